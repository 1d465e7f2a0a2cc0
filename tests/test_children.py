"""Children of the tests are stopped by signals, also where the tests run under nohup or in the background."""

import signal
import subprocess
import sys
from collections.abc import Iterator

import pytest
from tests.children import default_signals

pytestmark = pytest.mark.slow

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
SAY = "import signal, sys; print(*(signal.getsignal(int(one)) is signal.SIG_IGN for one in sys.argv[1:]))"


@pytest.fixture
def ignoring() -> Iterator[None]:
    """A process that ignores what nohup and a shell in the background ignore."""
    before = {one: signal.signal(one, signal.SIG_IGN) for one in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


def ignored_by_a_child() -> list[str]:
    """Whether a child ignores each of the signals."""
    numbers = [str(int(one)) for one in STOPPING]
    return subprocess.run(
        [sys.executable, "-c", SAY, *numbers], capture_output=True, text=True, check=True
    ).stdout.split()


def test_children_have_default_signals(ignoring: None) -> None:
    """A child inherits what is ignored, but not here; and the tests themselves ignore it again afterwards."""
    assert ignored_by_a_child() == ["True", "False", "True", "True"]
    with default_signals():
        assert ignored_by_a_child() == ["False"] * 4
    assert ignored_by_a_child() == ["True", "False", "True", "True"]
