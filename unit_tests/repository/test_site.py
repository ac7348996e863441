"""What the site's build rejects and rewrites; the build itself is `make docs`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from e2e.support.documentation.site_hooks import on_page_markdown, on_post_build

FETCHED = [
    '<script src="https://cdn.example/x.js"></script>',
    '<link rel="stylesheet" href="//fonts.example/css">',
    '<img src="http://example.com/x.png">',
    '<style>@import "https://fonts.example/css";</style>',
    "<style>a { background: url(https://example.com/x.png) }</style>",
]
NOT_FETCHED = [
    '<a href="https://example.com">elsewhere</a>',
    '<link rel="canonical" href="https://example.com/page">',
    '<script src="assets/x.js"></script>',
    '<img src="pictures/x.svg">',
]


def build(folder: Path, text: str, name: str = "page.html") -> None:
    (folder / name).write_text(text)
    on_post_build({"site_dir": str(folder)})


@pytest.mark.parametrize("text", FETCHED)
def test_what_a_browser_would_fetch_from_elsewhere_is_rejected(text: str, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"page\.html"):
        build(tmp_path, text)


@pytest.mark.parametrize("text", NOT_FETCHED)
def test_links_and_own_files_are_not(text: str, tmp_path: Path) -> None:
    build(tmp_path, text)


def test_style_sheets_are_looked_into(tmp_path: Path) -> None:
    build(tmp_path, "a { color: red }", "good.css")
    with pytest.raises(SystemExit, match=r"bad\.css"):
        build(tmp_path, "@import url(https://fonts.example/css);", "bad.css")


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("see [tests](../e2e/README.md)", "see tests (`e2e/README.md`)"),
        ("see [tests](../e2e/README.md#a-real-node)", "see tests (`e2e/README.md`)"),
        ("[e2e/x.yaml](../e2e/x.yaml)", "`e2e/x.yaml`"),
        ("[status](status.md#events)", "[status](status.md#events)"),
        ("[elsewhere](https://example.com/../x)", "[elsewhere](https://example.com/../x)"),
    ],
)
def test_files_outside_of_the_site_are_named(link: str, text: str, tmp_path: Path) -> None:
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(tmp_path / "docs" / "page.md")))
    assert on_page_markdown(link, page, {"docs_dir": str(tmp_path / "docs")}) == text


def test_links_from_a_folder_to_another_page_stay(tmp_path: Path) -> None:
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(tmp_path / "docs" / "frameworks" / "jax.md")))
    settings = {"docs_dir": str(tmp_path / "docs")}
    assert on_page_markdown("[run](../run-policy.md#x)", page, settings) == "[run](../run-policy.md#x)"
    assert on_page_markdown("[it](../../README.md)", page, settings) == "it (`README.md`)"


@pytest.mark.parametrize(
    ("link", "text"),
    [
        ("[status.md](status.md)", "[Read it](status.md)"),
        ("[status.md](status.md#the-events)", "[The `events`](status.md#the-events)"),
        ("[why](status.md)", "[why](status.md)"),
        ("[page.md](page.md)", "[page.md](page.md)"),
    ],
)
def test_pages_are_called_by_their_titles(link: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "status.md").write_text("```\n# no heading\n```\n# Read it\n\n## The `events`\n")
    page = SimpleNamespace(file=SimpleNamespace(abs_src_path=str(tmp_path / "page.md")))
    assert on_page_markdown(link, page, {"docs_dir": str(tmp_path)}) == text
