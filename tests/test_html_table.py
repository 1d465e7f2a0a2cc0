"""Tables as HTML."""

from hypothesis import given
from hypothesis import strategies as st
from tests.markup import HOSTILE, Markup

from runcard.html_table import MOST_LETTERS, escaped, html_note, html_table, html_title

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=MOST_LETTERS)


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), TEXTS)
def test_every_text_comes_back_as_it_is(rows: list[tuple[str, str]], title: str) -> None:
    """Whatever a name is, a browser shows just that, and no tag of it becomes one."""
    page = Markup(html_table(("name", "number"), rows, title=title) + html_note(title) + html_title(title))
    assert page.tables == [[["name", "number"], *map(list, rows)]]
    assert page.names <= {"table", "caption", "b", "thead", "tbody", "tr", "th", "td", "p", "small"}


def test_a_long_text_is_cut() -> None:
    """A name of a million letters takes no more than a line, and no entity is cut in half."""
    assert escaped("&" * 1_000_000) == "&amp;" * (MOST_LETTERS - 1) + "…"
    assert escaped("a" * MOST_LETTERS) == "a" * MOST_LETTERS


def test_hostile_text_is_only_text() -> None:
    """A name that is a script is shown, and does nothing."""
    page = Markup(html_table((HOSTILE,), [(HOSTILE,)], title=HOSTILE, strong={0}))
    assert page.tables == [[[HOSTILE], [HOSTILE]]]
    assert not {"script", "img"} & page.names
