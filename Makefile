# Three commands do it all: `make demo`, `make check` and `make test`. Each sets up what it needs.
VENV := .venv
SITE := .cache/docs-site
BIN := $(VENV)/bin
.DEFAULT_GOAL := setup
.PHONY: setup dev pages demo check test test-long docs docs-site screenshots bench dist clean

setup: $(VENV)/.installed pages   ## the program, in .venv/bin/roost
dev: $(VENV)/.dev                ## and what the tests need

$(VENV)/.installed: pyproject.toml requirements.txt tools/setup tools/roost
	@tools/setup run

$(VENV)/.dev: $(VENV)/.installed requirements-dev.txt
	@tools/setup dev

pages: $(VENV)/.installed         ## the dashboard, built when something has changed since
	@tools/pages

demo: setup                      ## a server on simulated GPUs, a handful of jobs, end to end
	@tools/demo

check: dev                       ## in a minute, without root: lint, format, types, layers, house, words, unit tests
	@tools/check

test: dev pages                  ## everything: what `make check` does, then all tests
	@tools/test

test-long: dev                   ## every case of what `make test` takes samples of: kills, full disks, restored servers; an hour
	@tools/test -m long

docs: dev                        ## the pages that are made from the code
	@$(BIN)/python tools/cli_reference.py && $(BIN)/python tools/state_chart.py && $(BIN)/python tools/settings_page.py && \
	  $(BIN)/python tools/openapi_file.py

docs-site: dev                   ## the documentation as a site, English and Chinese; nothing on it is loaded from another host
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q --strict --site-dir "$(abspath $(SITE))"
	@echo "$(SITE)/index.html"

screenshots: dev pages           ## every page, light and dark, English and Chinese, desktop and phone
	@$(BIN)/python tools/screenshots.py

bench: dev                       ## against peers and floors, in one run
	@for what in peers submit cluster fleet; do $(BIN)/python -m bench.$$what || exit 1; done

dist: setup                      ## source archive, wheel and Debian package, in dist/
	@tools/dist

clean:
	rm -rf $(VENV) dist web/node_modules web/src/api/schema.d.ts src/roost/web/built .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis
