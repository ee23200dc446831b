"""What mkdocs.yml cannot say: hooks that MkDocs calls while `make docs-site` builds the documentation.

- The navigation is what docs/index.md and docs/zh/index.md list. A page shows the one in its language.
- Documents in the root of the repository (CONTRIBUTING.md, …) are pages too.
- A link to a file that is not part of the site becomes plain text.
- The chart of a job's states becomes a table: drawing it in the browser would load a program from another host.
"""

from __future__ import annotations

import os
import posixpath
import re
from copy import copy
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parents[1]
ABOUT = {name: f"about/{name.removesuffix('.md').lower()}.md" for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}
"""Documents of the root, and their place on the site."""
CHINESE = "中文"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read the navigation, and name headings as GitHub does."""
    config.nav = [*navigation("index.md"), {CHINESE: navigation("zh/index.md")}]
    config.mdx_configs.setdefault("toc", {})["slugify"] = slugify(case="lower")
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the documents of the root."""
    for name, place in ABOUT.items():
        files.append(File.generated(config, place, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write for Python-Markdown what was written for GitHub."""
    source = {place: name for name, place in ABOUT.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    parts = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(
        _block(part) if part.startswith("```") else _prose(part, source, page.file.src_uri, files) for part in parts
    )


def on_page_context(context: dict[str, Any], page: Page, config: MkDocsConfig, nav: Navigation) -> dict[str, Any]:
    """Show a page in its own language: navigation, words of the theme, and a link to the same page in the other."""
    here = page.file.src_uri
    chinese = here.startswith("zh/")
    section = next(item for item in nav.items if item.title == CHINESE)
    assert isinstance(section, Section)
    shown = copy(nav)
    shown.items = section.children if chinese else [item for item in nav.items if item is not section]
    pages = [one for one in nav.pages if one.file.src_uri.startswith("zh/") == chinese]
    at = pages.index(page) if page in pages else None
    if at is not None:
        page.previous_page = pages[at - 1] if at else None
        page.next_page = pages[at + 1] if at + 1 < len(pages) else None
    addresses = {one.file.src_uri: one.url for one in nav.pages}
    english_name = here.removeprefix("zh/")
    config.theme["language"] = "zh" if chinese else "en"
    config.extra["homepage"] = "zh/" if chinese else "./"
    config.extra["alternate"] = [
        {"name": "English", "lang": "en", "link": addresses.get(english_name, "") or "./"},
        {"name": CHINESE, "lang": "zh", "link": addresses.get(f"zh/{english_name}", "zh/")},
    ]
    return {**context, "nav": shown}


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Drop links to other languages in the page's head: the theme's script would look for a sitemap behind each."""
    return re.sub(r'<link rel="alternate"[^>]*>', "", output)


def navigation(index: str) -> list[Any]:
    """The list of pages that MkDocs wants, from the headings and lists of an index page."""
    text = (ROOT / "docs" / index).read_text(encoding="utf-8")
    found: list[Any] = [{"首页" if index.startswith("zh/") else "Home": index}]
    into = found
    for line in text.splitlines():
        if heading := re.fullmatch(r"## (.+)", line):
            into = section = []
            found.append({heading[1]: section})
        elif group := re.fullmatch(r"(\w[^|]*)[:：]", line):
            into = []
            section.append({group[1]: into})
        elif (entry := re.match(r"- \[([^\]]+)\]\(([^)#]+\.md)\)", line)) and into is not found:
            into.append({entry[1]: place_of(posixpath.join("docs", posixpath.dirname(index), entry[2]))})
    return found


def place_of(path: str) -> str:
    """Where a file of the repository is on the site, or would be: relative to docs/."""
    path = posixpath.normpath(path)
    return ABOUT.get(path) or posixpath.relpath(path, "docs")


def _block(text: str) -> str:
    """A fenced block: without marks for tests, and the chart as a table."""
    if text.startswith("```mermaid"):
        return _transitions(text)
    return re.sub(r"\A```(\w+) .*", r"```\1", text)


def _transitions(chart: str) -> str:
    """A table of the transitions that a state chart draws."""
    rows = re.findall(r"^ +(\[\*\]|\w+) --> (\w+): (.+)$", chart, re.MULTILINE)
    lines = [f"| {'' if before == '[*]' else f'`{before}`'} | {change} | `{after}` |" for before, after, change in rows]
    return "\n".join(["| from | event | to |", "|---|---|---|", *lines])


def _prose(text: str, source: str, place: str, files: Files) -> str:
    """Text outside of blocks: links of the site, and bars in the code of tables."""
    text = LINK.sub(lambda link: _link(link, source, place, files), text)
    return re.sub(
        r"^\|.*$", lambda row: re.sub(r"`[^`]+`", lambda code: code[0].replace("\\|", "|"), row[0]), text, flags=re.M
    )


def _link(link: re.Match[str], source: str, place: str, files: Files) -> str:
    """The link as the site has it, or its words alone when the site does not have its target."""
    picture, words, target = link.groups()
    path, hash_mark, anchor = target.partition("#")
    if not path or re.match(r"[a-z]+:", target):
        return link[0]
    there = place_of(posixpath.join(posixpath.dirname(source), path))
    if there not in files.src_uris:
        return words
    return f"{picture}[{words}]({os.path.relpath(there, posixpath.dirname(place) or '.')}{hash_mark}{anchor})"
