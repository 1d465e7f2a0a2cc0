"""Children with default signals, however the tests were started.

A child inherits which signals are ignored. `nohup` ignores SIGHUP, and a shell that starts something in the background
ignores SIGINT and SIGQUIT for it, so that a child that a test stops by one of these would go on.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def default_signals() -> Iterator[None]:
    """While this lasts no signal that stops a process is ignored: not by children that are started meanwhile."""
    stopping = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    ignored = [one for one in stopping if signal.getsignal(one) is signal.SIG_IGN]
    for one in ignored:
        signal.signal(one, signal.SIG_DFL)
    try:
        yield
    finally:
        for one in ignored:
            signal.signal(one, signal.SIG_IGN)
