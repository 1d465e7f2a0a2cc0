"""The guide for integrators is run: each of its shell blocks, in order, against a real server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.service_server import free_port

from runcard.city import demo_city, write_city
from runcard.plan.file import save
from runcard.plan.plan import solve

pytestmark = pytest.mark.slow

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "dispatch-centre.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
PREPARED = """
set -euo pipefail
curl() {
    case "$*" in
        */stream)  # it has no end
            exec 3< <(exec curl --silent --fail-with-body --max-time 60 "$@")
            reader=$!
            read -r event <&3
            echo "$event"
            kill $reader;;
        *) command curl --silent --show-error --fail-with-body --max-time 60 "$@"; echo;;
    esac
}
stop() { if [ -n "${SERVER:-}" ]; then kill "$SERVER"; wait "$SERVER" || true; SERVER=; fi; }
trap stop EXIT
runcard() {
    if [ "$1" != serve ]; then command runcard "$@"; return; fi
    stop
    command runcard "$@" --port PORT >>serve.log 2>&1 &
    SERVER=$!
    for _ in $(seq 600); do
        if command curl --silent --fail --output /dev/null localhost:PORT/ready; then return; fi
        sleep 0.05
    done
    cat serve.log >&2
    return 1
}
"""


def commands() -> str:
    """The lines of the guide's shell blocks, without the prompts."""
    blocks = BLOCK.findall(GUIDE.read_text(encoding="utf-8"))
    return "\n".join(re.sub(r"^\$ ", "", block, flags=re.MULTILINE) for block in blocks)


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_every_command_of_the_guide_works(tmp_path: Path) -> None:
    """Each server of the guide starts, and each curl gets what it asks for: no error, in the order of the page."""
    write_city(demo_city(), tmp_path / "town" / "city")
    save(solve(demo_city(), "closest-first"), tmp_path / "town.policy")
    port, text = str(free_port()), commands()
    assert text.count("curl ") > 10
    script = (PREPARED + text).replace("localhost:8000", f"localhost:{port}").replace("PORT", port)
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env={"PATH": path, "HOME": str(tmp_path)}, capture_output=True,
        text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
    said = done.stdout
    assert said.count('"decision_id"') >= 6
    assert "event: board" in said
    assert '"followed":false' in said
    assert (tmp_path / "decisions.csv").read_text(encoding="utf-8").count("\n") >= 4


def test_the_guide_names_every_field_of_an_answer() -> None:
    """What an integrator reads in an answer is in the guide's table."""
    from runcard.service.documents import DecisionAnswer, DecisionRequest

    text = GUIDE.read_text(encoding="utf-8")
    part = text[text.index("### Ask who goes") : text.index("### The status board")]
    plain = {"time", "node", "area", "type", "kinds"}
    for name in DecisionAnswer.model_fields.keys() - plain:
        assert f"`{name}`" in part, name
    rare = {"row", "period", "time", "policy", "policy_version", "board_version"}
    for name in DecisionRequest.model_fields.keys() - rare:
        assert f'"{name}"' in part, name
