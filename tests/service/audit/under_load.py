"""A process that records under load, and says on standard output which records were acknowledged.

It is a program of its own, so that it can be killed: `python under_load.py URL NAME [WORKERS]`. A line is a record that
was acknowledged, "refused" one that was not.
"""

import asyncio
import os
import sys
from itertools import count

from runcard.errors import AuditError
from runcard.service.audit import open_audit


async def main(url: str, name: str, num_workers: int) -> None:
    """Record until somebody ends it."""
    log = open_audit(url)

    async def work(worker: int) -> None:
        for number in count():
            decision_id = f"{name}-{worker}-{number}"
            document = {"decision_id": decision_id, "time": "2026-11-16T21:40:03+00:00", "reason": "x" * 1_000}
            try:
                await log.record(document)
                line = decision_id
            except AuditError:
                await asyncio.sleep(0.02)
                line = "refused"
            os.write(1, f"{line}\n".encode())  # one call for a line, so that no line is cut

    await asyncio.gather(*(work(worker) for worker in range(num_workers)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 50))
