"""Policy files: one safetensors file holds a solved policy and all that its decisions need.

The values h are by far the largest part (8 bytes a state) and are memory-mapped, so that many processes of a dispatch
centre share one copy. The rest, a few arrays and ids, is read at once. A digest of all of it is kept in the header and
checked on loading; the fingerprint of the problem says which city the policy is for. A file is written under
another name first and then renamed: whoever reads it sees all of it or none. A mapped file must never be written in
place: whoever has it open would see numbers change that were checked.
"""

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from runcard.errors import PolicyFileError
from runcard.mdp.layout import VALUE_PADDING
from runcard.mdp.problem import DispatchProblem
from runcard.outputs.files import write_whole
from runcard.policy.base import Certificate, Policy
from runcard.policy.by_value import ValuePolicy
from runcard.policy.closest_first import ClosestFirst
from runcard.policy.solve import POLICY_NAMES

FORMAT: Final = "runcard-policy-1"
_ARRAYS: Final = ("trucks", "incidents_per_day", "trucks_needed", "teams", "cost", "order")


def save_policy(policy: Policy, path: str | os.PathLike[str]) -> Path:
    """The file that now holds the policy."""
    problem = policy.problem
    arrays: dict[str, NDArray[Any]] = {name: np.ascontiguousarray(getattr(problem, name)) for name in _ARRAYS}
    if problem.response_minutes is not None:
        arrays["response_minutes"] = np.ascontiguousarray(problem.response_minutes)
    arrays["value"] = np.ascontiguousarray(policy.value)
    certificate = policy.certificate
    about: dict[str, Any] = {
        "format": FORMAT,
        "policy": policy.name,
        "problem": problem.fingerprint,
        "returns_per_day": problem.returns_per_day,
        "station_ids": problem.station_ids,
        "point_ids": problem.point_ids,
        "certificate": None if certificate is None else [certificate.lower, certificate.upper, certificate.converged],
    }
    about["digest"] = _digest(about, arrays)
    return write_whole(Path(path), save(arrays, metadata={"runcard": json.dumps(about)}))


def load_policy(path: str | os.PathLike[str], problem: DispatchProblem | None = None) -> Policy:
    """The policy in a file; with `problem`, only if it was made for that problem."""
    source = Path(path)
    about, arrays = _read(source)
    if problem is not None and about["problem"] != problem.fingerprint:
        raise PolicyFileError(
            f"{source}: the policy was made for another city, or for this one before it changed; solve it again"
        )
    name, bounds, value = about["policy"], about["certificate"], arrays.pop("value")
    if name not in POLICY_NAMES:
        raise PolicyFileError(f"{source}: expected a policy of {', '.join(POLICY_NAMES)}, found {name!r}")
    made_for = DispatchProblem(
        **arrays,
        returns_per_day=about["returns_per_day"],
        station_ids=tuple(about["station_ids"]),
        point_ids=tuple(about["point_ids"]),
    )
    if len(value) != made_for.num_states + VALUE_PADDING:
        raise PolicyFileError(f"{source}: expected values of {made_for.num_states} states, found {len(value)} numbers")
    certificate = None if bounds is None else Certificate(lower=bounds[0], upper=bounds[1], converged=bounds[2])
    if name == "closest-first":
        return ClosestFirst(problem=made_for, value=value, certificate=certificate)
    return ValuePolicy(name=name, problem=made_for, value=value, certificate=certificate)


def _read(source: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a policy file says of itself, and its arrays, of which `value` is memory-mapped; all as it was written."""
    if source.is_dir():
        raise PolicyFileError(f"{source}: expected a policy file, found a folder")
    try:
        with safe_open(source, framework="numpy") as file:
            about = json.loads((file.metadata() or {}).get("runcard", "null"))
            names = set(file.keys()) - {"value"}
            arrays = {name: file.get_tensor(name) for name in names}
        arrays["value"] = _mapped(source, "value")
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
    first, last = entry["data_offsets"]
    return np.memmap(source, np.float64, mode="r", offset=8 + header_bytes + first, shape=((last - first) // 8,))


def _digest(about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """A digest of everything that a policy file says and holds."""
    digest = hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype.str}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()
