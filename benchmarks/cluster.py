"""A stress test on a Dask cluster of this machine: how much sooner two workers have it than one."""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import runcard
from benchmarks.row import Row
from runcard.assess.workers import Workers
from runcard.city.demo import demo_city
from runcard.simulate.engine import possible_scenarios, simulate_plans
from runcard.simulate.scenario import built_in_names, read_scenario

INCIDENTS = 1_000_000
TRIES = 3


def cluster_cases(*, quick: bool = False) -> Iterator[Row]:
    """Every scenario of the built-in town, simulated for two policies by one worker and by two, one thread each."""
    city = demo_city()
    scenarios, _ = possible_scenarios(city, [read_scenario(name) for name in built_in_names()])
    plans = [runcard.solve(city, name) for name in ("closest-first", "optimal")]
    incidents = INCIDENTS // 10 if quick else INCIDENTS
    work, found, seconds = partial(simulate_plans, city, plans, incidents=incidents, threads=1), {}, {1: [], 2: []}
    with contextlib.ExitStack() as clusters:
        workers = {num: Workers(backend="dask", address=clusters.enter_context(cluster(num))) for num in seconds}
        for num in workers:  # kernels are loaded
            workers[num].each(partial(simulate_plans, city, plans, incidents=100, threads=1), scenarios * num)
        for _ in range(TRIES):
            for num, times in seconds.items():
                began = time.perf_counter()
                results = workers[num].each(work, scenarios)
                times.append(time.perf_counter() - began)
                found[num] = [[result.missed(number) for number in range(2)] for result in results]
    assert found[1] == found[2]
    ratio = min(seconds[1]) / min(seconds[2])
    name = f"stress of {len(scenarios)} scenarios, two Dask workers beside one"
    yield Row(name, f"{ratio:.2f} times as fast ({min(seconds[2]):.1f} s)", "1.7 times", ratio >= 1.7)


@contextlib.contextmanager
def cluster(num_workers: int) -> Iterator[str]:
    """The address of a scheduler with so many workers, processes of one thread each."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as processes:
        file, dask = Path(folder) / "scheduler.json", [sys.executable, "-m", "dask"]

        def start(*arguments: str) -> None:
            command = [*dask, *arguments]
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            processes.callback(process.wait)
            processes.callback(process.kill)

        start("scheduler", "--scheduler-file", str(file), "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        while not (file.exists() and file.read_text()):
            time.sleep(0.05)
        address: str = json.loads(file.read_text())["address"]
        for _ in range(num_workers):
            start("worker", address, "--nworkers", "1", "--nthreads", "1", "--no-dashboard", "--no-nanny")
        yield address
