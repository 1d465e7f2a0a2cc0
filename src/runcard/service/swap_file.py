"""Which policy answers, in a file beside that of the board, so that a restart does not undo a swap.

A swap is kept for the file that the service was started with: where that is another one by now, somebody wants it to
answer, and the swap is forgotten.
"""

import json
import logging
from pathlib import Path
from typing import Any, Final

from runcard.errors import InputError, RuncardError
from runcard.output_file import write_whole
from runcard.service.policies import LoadedPolicy, PolicyStore, load_policy

KEYS: Final = ("started_with", "started_version", "file", "name", "version")

_log = logging.getLogger("runcard.service")


def swap_file_of(board: Path | None) -> Path | None:
    """The file that keeps a swap; none where the board is not kept either."""
    return None if board is None else board.with_name(f"{board.name.removesuffix('.json')}.policy.json")


def save_swap(path: Path, started_with: LoadedPolicy, policy: LoadedPolicy) -> None:
    """Keep that a policy answers in place of the one that the service was started with."""
    assert started_with.path is not None
    assert policy.path is not None
    values = (str(started_with.path.resolve()), started_with.version, policy.path.name, policy.name, policy.version)
    write_whole(path, (json.dumps(dict(zip(KEYS, values, strict=True)), indent=1) + "\n").encode())


def restore_swap(path: Path, store: PolicyStore) -> None:
    """Let the policy answer that did before the restart; say loudly if that cannot be."""
    started = store.serving
    assert started.path is not None
    kept = _kept(path)
    if kept is None or kept["file"] == started.path.name:
        return
    if (kept["started_with"], kept["started_version"]) != (str(started.path.resolve()), started.version):
        _log.warning("%s was swapped in before, but the service is started with another file by now", kept["file"])
        return
    try:
        policy = load_policy(started.path.resolve().parent / Path(kept["file"]).name, name=kept["name"]).warm_up()
        store.add(policy, serve=True)
    except (RuncardError, OSError) as error:
        _log.error("%s ANSWERS AGAIN, not %s, which was swapped in: %s", started.path.name, kept["file"], error)
        return
    changed = "" if policy.version == kept["version"] else f", in version {policy.version} by now"
    _log.warning("%s answers, not %s: it was swapped in before the restart%s", kept["file"], started.path.name, changed)


def _kept(path: Path) -> dict[str, Any] | None:
    """What a file says; None if there is none."""
    if not path.exists():
        return None
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {key: str(found[key]) for key in KEYS}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: expected the policy that a service kept; remove it to begin with the first file"
        ) from error
