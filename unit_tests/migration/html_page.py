"""What an HTML page is made of, for tests."""

from __future__ import annotations

from html.parser import HTMLParser


class Page(HTMLParser):
    """The tags of a page, and what it refers to; its elements must nest."""

    VOID = ("meta", "br", "input", "rect")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.tags: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID or tag == "rect":
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        self.anchors |= {f"#{value}" for name, value in attrs if name == "id"}
