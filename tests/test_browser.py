"""The browser of the tests: it notices what a page must not do."""

from pathlib import Path

from tests.browser import OpenPage


def page(folder: Path, body: str) -> Path:
    """A file with a page."""
    path = folder / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><title>A page</title>{body}")
    return path


def test_a_page_that_stands_on_its_own_passes(tmp_path: Path, open_page: OpenPage) -> None:
    """Scripts, links to parts of the page and pictures inside it are no requests and no errors."""
    picture = "<img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=='>"
    opened = open_page(page(tmp_path, f"<p id=p></p><script>p.textContent = 'drawn'</script>{picture}"))
    assert opened.page.inner_text("p") == "drawn"
    opened.check()


def test_a_request_to_the_network_or_another_file_is_noticed(tmp_path: Path, open_page: OpenPage) -> None:
    """Even one that fails, because there is no network."""
    body = "<img alt='' src='http://127.0.0.1:9/a.png'><link rel=stylesheet href=other.css>"
    opened = open_page(page(tmp_path, body))
    assert {url.rpartition("/")[2] for url in opened.requests} == {"a.png", "other.css"}
    assert opened.errors


def test_exceptions_and_the_console_are_noticed(tmp_path: Path, open_page: OpenPage) -> None:
    """Both are errors of the page."""
    opened = open_page(page(tmp_path, "<script>console.error('said'); throw Error('thrown')</script>"))
    assert [text.removeprefix("Error: ") for text in opened.errors] == ["said", "thrown"]
