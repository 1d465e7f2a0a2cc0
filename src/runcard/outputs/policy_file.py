"""Policy files: one safetensors file holds a solved policy and all that its decisions need, and no more.

What that is depends on the policy: the values h of every state (`value`), a sum of small tables (`table_...`), the
orders of a card (`card`), or nothing but the problem. The largest arrays, the values and the costs of the teams, are
memory-mapped, so that many processes of a dispatch centre share one copy; the rest is read at once. A digest of all of
it is kept in the header and checked on loading; the fingerprint of the problem says which city the policy is for. A
file is written under another name first and then renamed: whoever reads it sees all of it or none. A mapped file must
never be written in place: whoever has it open would see numbers change that were checked.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from runcard.city.model import LATE, Objective
from runcard.errors import InputError, PolicyFileError
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.files import fill_whole
from runcard.policy.base import Certificate, Policy, Stored
from runcard.policy.solve import RECIPES

FORMAT: Final = "runcard-policy-2"
_ARRAYS: Final = ("trucks", "incidents_per_day", "trucks_needed", "teams", "cost", "order")
_MAPPED: Final = ("cost", "late", "value")


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policy."""
    problem = policy.problem
    arrays: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(getattr(problem, name)) for name in _ARRAYS}
    stored = policy.stored()
    if problem.response_minutes is not None and ("value" in stored.arrays or problem.late is not None):
        # For evaluation in every state, which is what values of every state are for; or for what a decision says.
        arrays["response_minutes"] = np.ascontiguousarray(problem.response_minutes)
    if problem.late is not None:
        arrays["late"] = np.ascontiguousarray(problem.late)
    arrays |= stored.arrays
    certificate = stored.certificate
    about: dict[str, Any] = {
        "format": FORMAT,
        "policy": policy.name,
        "problem": problem.fingerprint,
        "returns_per_day": problem.returns_per_day,
        "station_ids": problem.station_ids,
        "point_ids": problem.point_ids,
        "certificate": None if certificate is None else [certificate.lower, certificate.upper, certificate.converged],
        "settings": dict(stored.settings),
    }
    if problem.class_names:
        about["class_names"] = problem.class_names
    if problem.objective != LATE:
        about["objective"] = asdict(problem.objective)
    about["digest"] = _digest(about, arrays)
    metadata = {"runcard": json.dumps(about)}
    return fill_whole(Path(path), lambda draft: save_file(arrays, draft, metadata=metadata))


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | None = None) -> Policy:
    """The policy in a file; with `problem`, only if it was made for that problem."""
    source = Path(path)
    about, arrays = _read(source)
    if problem is not None and about.get("problem") != problem.fingerprint:
        raise PolicyFileError(
            f"{source}: the policy was made for another city, or for this one before it changed; solve it again"
        )
    try:
        return _policy(about, arrays)
    except PolicyFileError as error:
        raise PolicyFileError(f"{source}: {error}") from error
    except (InputError, KeyError, TypeError, ValueError, IndexError) as error:
        # Whole, but not written by this version: an array or a word that it needs is missing, or of another kind.
        raise PolicyFileError(f"{source}: not a policy file of this version, or damaged ({error!r})") from error


def _policy(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Policy:
    """The policy of a file, from what the file says of itself and its arrays."""
    name, bounds, settings = about["policy"], about["certificate"], about["settings"]
    if name not in RECIPES:
        raise PolicyFileError(f"expected a policy of {', '.join(RECIPES)}, found {name!r}")
    problem = DispatchProblem(
        **{name: arrays[name] for name in _ARRAYS},
        response_minutes=arrays.get("response_minutes"),
        late=arrays.get("late"),
        objective=Objective(**about.get("objective", {})),
        returns_per_day=about["returns_per_day"],
        station_ids=tuple(about["station_ids"]),
        point_ids=tuple(about["point_ids"]),
        class_names=tuple(about.get("class_names", ())),
    )
    certificate = None
    if bounds is not None:
        lower, upper, converged = bounds
        certificate = Certificate(lower=lower, upper=upper, converged=converged)
    return RECIPES[name].read(problem, Stored(arrays=arrays, settings=settings, certificate=certificate))


def _read(source: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a policy file says of itself, and its arrays, the largest memory-mapped; all as it was written."""
    if source.is_dir():
        raise PolicyFileError(f"{source}: expected a policy file, found a folder")
    try:
        with safe_open(source, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("runcard", "null"))
            names = set(file.keys())
            arrays = {name: file.get_tensor(name) for name in names - set(_MAPPED)}
        arrays |= {name: _mapped(source, name) for name in names & set(_MAPPED)}
    except FileNotFoundError as error:
        raise PolicyFileError(f"{source}: expected a policy file, found none") from error
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise PolicyFileError(f"{source}: not a policy file, or damaged or cut short ({error})") from error
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        found = about.get("format") if isinstance(about, dict) else about
        raise PolicyFileError(f"{source}: expected a policy file of the format {FORMAT}, found {found!r}")
    if about.pop("digest", None) != _digest(about, arrays):
        raise PolicyFileError(f"{source}: the file is damaged: its contents do not match their digest")
    return about, arrays


def _mapped(source: Path, name: str) -> NDArray[np.float64]:
    """One array of doubles of a safetensors file, memory-mapped and read-only."""
    with source.open("rb") as file:
        (header_bytes,) = struct.unpack("<Q", file.read(8))
        entry = json.loads(file.read(header_bytes))[name]
    first, _ = entry["data_offsets"]
    return np.memmap(source, np.float64, mode="r", offset=8 + header_bytes + first, shape=tuple(entry["shape"]))


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A digest of everything that a policy file says and holds."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
