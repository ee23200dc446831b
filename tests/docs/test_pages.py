"""What can be seen by reading: links, twins, words, and what must not be in the repository."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.docs.pages import ROOT, anchors, blocks, files, headings, links, pages, read

TWINS = (
    ("README.md", "README.zh-CN.md"),
    ("docs/tutorial/getting-started.md", "docs/zh/tutorial/getting-started.md"),
    ("docs/how-to/cluster.md", "docs/zh/how-to/cluster.md"),
    ("docs/how-to/users.md", "docs/zh/how-to/users.md"),
    ("docs/how-to/sweeps.md", "docs/zh/how-to/sweeps.md"),
    ("docs/how-to/notify.md", "docs/zh/how-to/notify.md"),
    ("docs/how-to/troubleshooting.md", "docs/zh/how-to/troubleshooting.md"),
    ("docs/how-to/install.md", "docs/zh/how-to/install.md"),
    ("docs/how-to/login.md", "docs/zh/how-to/login.md"),
    ("docs/how-to/dashboard.md", "docs/zh/how-to/dashboard.md"),
    ("docs/explanation/policies.md", "docs/zh/explanation/policies.md"),
    ("docs/explanation/why.md", "docs/zh/explanation/why.md"),
    ("docs/how-to/from-gpu-manager.md", "docs/zh/how-to/from-gpu-manager.md"),
    ("docs/how-to/from-gpu-tasker.md", "docs/zh/how-to/from-gpu-tasker.md"),
)


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        if not found.exists() or (anchor and anchor not in anchors(found.read_text(encoding="utf-8"))):
            broken.append(target)
    assert broken == []


def test_every_document_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for target in links(read("docs/index.md"))}
    missing = [page.name for page in (ROOT / "docs").rglob("*.md") if page != index and page.resolve() not in linked]
    transcripts = [name for name in missing if "transcript" in name]
    assert sorted(set(missing) - set(transcripts)) == []


@pytest.mark.parametrize(("english", "chinese"), TWINS)
def test_both_languages_have_the_same_sections_commands_and_tables(english: str, chinese: str) -> None:
    ours, theirs = read(english), read(chinese)
    assert [level for level, _ in headings(ours)] == [level for level, _ in headings(theirs)]
    assert [b.commands for b in blocks(ours)] == [b.commands for b in blocks(theirs)]
    assert ours.count("\n|") == theirs.count("\n|")
    assert len(links(ours)) == len(links(theirs))


def test_the_chinese_pages_are_chinese() -> None:
    for _, chinese in TWINS:
        words = [words for _, words in headings(read(chinese))[1:]]
        assert [w for w in words if not re.search(r"[\u4e00-\u9fff]", w)] == []


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    picture = (ROOT / "docs" / "pictures" / "cli.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"[a-z]+://[^\"' )]+", picture)) == {"http://www.w3.org/2000/svg"}
    assert str(ROOT) not in picture


def test_no_host_of_a_package_registry_is_named() -> None:
    hosts = re.compile(
        rb"pypi\.or[g]|pythonhoste[d]|npmj[s]\.|artifactor[y]|jfro[g]|index-ur[l]|docker\.i[o]|ghcr\.i[o]|quay\.i[o]", re.I
    )
    named = [str(path.relative_to(ROOT)) for path in files() if path.is_file() and hosts.search(path.read_bytes())]
    assert named == []
