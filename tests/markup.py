"""HTML read again, for tests: whether every tag is closed, and the cells of its tables."""

from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "input", "link"}


class Markup(HTMLParser):
    """The text and the tables of some HTML; raises an AssertionError if a tag is not closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.cells: list[list[list[tuple[str, str, list[str]]]]] = []
        """By table and row: the tag, the class and the pieces of text of each cell."""
        self.words = ""
        """All text but that of scripts and styles."""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)
        if tag == "table":
            self.cells.append([])
        elif tag == "tr":
            self.cells[-1].append([])
        elif tag in ("td", "th"):
            self.cells[-1][-1].append((tag, self.tags[-1][1].get("class", ""), []))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag without content."""
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag == "br" and {"td", "th"} & set(self._open):
            self.cells[-1][-1][-1][2].append("\n")

    def handle_endtag(self, tag: str) -> None:
        """Close the tag that was opened last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Add to the text, and to the cell where it stands."""
        if self._open and self._open[-1] not in ("script", "style"):
            self.words += data
        if {"td", "th"} & set(self._open):
            self.cells[-1][-1][-1][2].append(data)

    @property
    def tables(self) -> list[list[list[str]]]:
        """The texts of the cells."""
        return [[["".join(pieces) for _, _, pieces in row] for row in table] for table in self.cells]

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
        assert "background" not in attributes.get("style", "")
    return page
