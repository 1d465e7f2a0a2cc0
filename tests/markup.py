"""HTML read again, for tests: whether every tag is closed, and the cells of its tables."""

from html.parser import HTMLParser


class Markup(HTMLParser):
    """The text and the tables of some HTML; raises an AssertionError if a tag is not closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        self.words = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag without content."""
        self.tags.append((tag, dict(attrs)))
        if tag == "br" and self._open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += "\n"

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Add to the text, and to the cell where it stands."""
        self.words += data
        if self._open and self._open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    @property
    def names(self) -> set[str]:
        """Every kind of tag."""
        return {tag for tag, _ in self.tags}


HOSTILE = '<script>alert("1")</script>&<img src=x onerror=alert(2)>'


def shown(thing: object) -> Markup:
    """How a notebook shows something, checked: no script, nothing from elsewhere, no fixed background."""
    html = thing._repr_html_()  # type: ignore[attr-defined]
    page = Markup(html)
    allowed = {"div", "table", "caption", "b", "thead", "tbody", "tr", "th", "td", "p", "small", "br"}
    assert page.names <= allowed | {"svg", "title", "path", "g", "circle", "rect", "text", "line"}
    for _, attributes in page.tags:
        assert not {"src", "href", "class", "id"} & attributes.keys()
        assert not any(name.startswith("on") for name in attributes)
        assert "background" not in (attributes.get("style") or "")
    return page
