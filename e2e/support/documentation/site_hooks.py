"""What mkdocs is told next to `mkdocs.yml`: runs in the environment of the site, which has nothing of ours."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

OUTSIDE: Final = re.compile(r"\[([^\]]*)\]\((?:\.\./)+([^)#\s]+)(?:#[^)]*)?\)")
"""A link that leaves docs/ and leads to a file of the repository."""
NAMED_BY_FILE: Final = re.compile(r"\[[\w/-]+\.md\]\((?P<path>[\w/.-]+\.md)(?:#(?P<anchor>[\w-]+))?\)")
"""A link whose text is the name of a page, as it is useful where the code is hosted."""
SOURCES: Final = {"audio": "src", "iframe": "src", "img": "src", "link": "href", "script": "src", "video": "src"}
"""What a browser fetches by itself, by tag and attribute."""
NOT_FETCHED: Final = frozenset({"canonical", "next", "prev"})
"""Relations of `<link>` that only point somewhere."""
STYLES: Final = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Name files that are not part of the site in place of linking to them; call pages by their titles."""
    docs, here = Path(config["docs_dir"]), Path(page.file.abs_src_path).parent

    def named(link: re.Match[str]) -> str:
        target = (here / re.split(r"[)#]", link[0].split("](")[1])[0]).resolve()
        if target.is_relative_to(docs):
            return link[0]
        name = target.relative_to(docs.parent)
        return f"`{name}`" if link[1] == str(name) else f"{link[1]} (`{name}`)"

    def titled(link: re.Match[str]) -> str:
        target = (here / link["path"]).resolve()
        if not target.is_file() or not target.is_relative_to(docs):
            return link[0]
        return f"[{_title(target, link['anchor'])}]({link[0].split('](')[1]}"

    return NAMED_BY_FILE.sub(titled, OUTSIDE.sub(named, markdown))


def _title(page: Path, anchor: str | None) -> str:
    """The heading that an anchor leads to, or else that of the page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    text = next((each for each in headings if anchor and slug(each) == anchor), headings[0])
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def slug(heading: str) -> str:
    """The anchor of a heading, as code hosts make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def on_post_build(config: Any, **_: Any) -> None:
    """Reject a site that would make a browser fetch anything from elsewhere."""
    site = Path(config["site_dir"])
    found = [f"{page.relative_to(site)}: {source}" for page in site.rglob("*.html") for source in _fetched(page)]
    found += [str(sheet.relative_to(site)) for sheet in site.rglob("*.css") if STYLES.search(sheet.read_text())]
    if found:
        raise SystemExit("fetched from elsewhere: " + ", ".join(sorted(found)))


def _fetched(page: Path) -> list[str]:
    reader = _Sources()
    text = page.read_text()
    reader.feed(text)
    return reader.found + STYLES.findall(text)


class _Sources(HTMLParser):
    """Collects addresses of other hosts that a page makes the browser fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        source = given.get(SOURCES.get(tag, ""), "") or ""
        if re.match(r"(?:https?:)?//", source) and given.get("rel") not in NOT_FETCHED:
            self.found.append(source)
