"""A real browser for the tests of pages: Debian's chromium, headless, cut off from the network."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

CHROMIUM = shutil.which("chromium")
NEEDED = "chromium is not installed (make browser installs it)"


@dataclass
class OpenedPage:
    """A page in the browser, and everything that a page that stands on its own must not do."""

    page: "Page"
    errors: list[str] = field(default_factory=list)
    """Errors and warnings of the console, exceptions, and requests that failed."""
    requests: list[str] = field(default_factory=list)
    """The addresses of requests to anything but the file itself."""

    def check(self) -> None:
        """Assert that nothing went wrong, and nothing was asked of the network or of another file."""
        assert self.errors == []
        assert self.requests == []


class OpenPage(Protocol):
    """Opens a file; the options are those of a playwright context, such as `color_scheme="dark"`."""

    def __call__(self, path: Path, **options: Any) -> OpenedPage:
        """The page, loaded."""


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """The browser, of one module of tests: while it is there, nothing else can run an asyncio loop in this thread."""
    if CHROMIUM is None:
        pytest.skip(NEEDED)
    from playwright.sync_api import sync_playwright  # here, because most tests have no use for it

    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


class OpenSite(Protocol):
    """Opens the page of a service; the options are those of a playwright context."""

    def __call__(self, address: str, **options: Any) -> OpenedPage:
        """The page, loaded; a question that the page itself has taken back is no error."""


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[OpenPage]:
    """Opens files in the browser, each by itself and offline, and closes them after the test."""
    contexts: list[Any] = []

    def opened(path: Path, **options: Any) -> OpenedPage:
        address = path.resolve().as_uri()
        found = _watched(browser, contexts, lambda url: _is_other(url, address), **options)
        found.page.context.set_offline(True)
        found.page.goto(address)
        return found

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def open_site(browser: "Browser") -> Iterator[OpenSite]:
    """Opens the pages of a service on this machine, and closes them after the test."""
    contexts: list[Any] = []

    def opened(address: str, **options: Any) -> OpenedPage:
        found = _watched(browser, contexts, lambda url: not url.startswith((address, "data:", "blob:")), **options)
        found.page.goto(address)
        return found

    yield opened
    for context in contexts:
        context.close()


def _watched(browser: "Browser", contexts: list[Any], is_other: Callable[[str], bool], **options: Any) -> OpenedPage:
    """An empty page whose faults and requests are written down."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}, **options})
    contexts.append(context)
    found = OpenedPage(context.new_page())
    found.page.on("console", lambda said: said.type in ("error", "warning") and found.errors.append(said.text))
    found.page.on("pageerror", lambda error: found.errors.append(str(error)))
    found.page.on("requestfailed", lambda asked: _is_fault(asked) and found.errors.append(f"failed: {asked.url}"))
    context.on("request", lambda asked: is_other(asked.url) and found.requests.append(asked.url))
    return found


def _is_fault(asked: "Request") -> bool:
    """Whether a request failed that the page did not take back."""
    return asked.failure != "net::ERR_ABORTED"


def _is_other(url: str, address: str) -> bool:
    """Whether a request goes to anything but the file itself and what it holds."""
    return url.partition("#")[0] != address and not url.startswith(("data:", "blob:"))
