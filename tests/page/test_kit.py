"""The parts of pages: nothing to fetch, and data that cannot become anything else."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some

from runcard.page import embedded, map_script, map_style

SIGNS = ["</script>", "<!--", "-->", "&lt;", "<", ">", "\u2028", "é", '"', "\\", "a"]
TEXTS = some.lists(some.sampled_from(SIGNS)).map("".join)
DATA = some.recursive(
    TEXTS | some.integers() | some.none(), lambda part: some.lists(part) | some.dictionaries(TEXTS, part)
)


@pytest.mark.slow
@given(DATA)
def test_embedded_data_are_what_they_were_and_end_no_script(data: object) -> None:
    """JSON reads them back, and no sign that HTML knows is left."""
    text = embedded(data)
    assert json.loads(text) == data
    assert not set("<>&\u2028\u2029") & set(text)


def test_numbers_that_json_does_not_have_are_refused() -> None:
    """They would make a page that no browser can read."""
    with pytest.raises(ValueError, match="JSON"):
        embedded({"chance": float("nan")})


def test_style_and_script_fetch_nothing_and_end_nothing() -> None:
    """No picture, no map of the source, no import; nothing that ends a style or a script."""
    style, script = map_style(), map_script()
    assert not re.search(r"url\((?!#)", style.replace("url(#default#VML)", ""))
    assert "@import" not in style
    assert "sourceMappingURL" not in script
    assert "</style" not in style.lower()
    assert "</script" not in script.lower()
    assert "<!--" not in script


def test_the_licence_of_leaflet_comes_along() -> None:
    """Its text is in every page that has its code."""
    script = map_script()
    assert "Leaflet 1.9.4" in script
    assert "BSD 2-Clause License" in script
    assert "THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS" in script


def test_the_map_never_makes_markup_of_text() -> None:
    """In our own script nothing is parsed as HTML."""
    own = map_script().partition("The map of a page")[2]
    assert own
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", own)
