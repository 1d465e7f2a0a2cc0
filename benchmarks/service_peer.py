"""A peer for the service on the same machine: FastAPI that reads a request and answers with a fixed text, and no more.

No decision, no limits, no log: what the framework and the server take by themselves. Run as a program it serves on a
port.
"""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.service_server import free_port

ANSWER_BYTES = 2_500
"""About as long as an answer of the service."""


@contextmanager
def served_bare() -> Iterator[int]:
    """The port of a bare server that runs."""
    import http.client

    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.service_peer", str(port)])
    try:
        until = time.perf_counter() + 30.0
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
                connection.request("POST", "/v1/decisions", b"{}", {"Content-Type": "application/json"})
                assert connection.getresponse().status == 200
                break
            except OSError:
                if time.perf_counter() > until:
                    raise
                time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(10)


def main() -> None:
    """Serve."""
    import uvicorn
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

    app, answer = FastAPI(), b'{"team":["' + b"x" * ANSWER_BYTES + b'"]}'

    @app.post("/v1/decisions")
    async def decide(request: Request) -> Response:
        await request.json()
        return Response(answer, media_type="application/json")

    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
