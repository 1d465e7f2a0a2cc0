"""The loaded policies, and loading another one without dropping a request."""

import asyncio
import logging
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from runcard.errors import InputError, PolicyFileError, RuncardError
from runcard.service.documents import PolicyDocument, PolicyFile, PolicyList
from runcard.service.parts import Parts, parts_of
from runcard.service.policies import CLOSEST_FIRST, LoadedPolicy, check_clock, load_policy, save_swap, swap_file_of
from runcard.service.problems import ProblemError, refusals

router = APIRouter(tags=["policies"])

_log = logging.getLogger("runcard.service")


@router.get("/v1/policies", summary="The loaded policies", responses=refusals())
async def list_policies(request: Request) -> PolicyList:
    """Every loaded policy with its version, and which one answers."""
    store = parts_of(request).store
    plan, policies = store.serving.plan, store.by_name.values()

    def documents() -> list[PolicyDocument]:
        return [policy_document(one, serving=one is store.serving) for one in policies]

    # In a thread, because it may read files.
    listed = await asyncio.to_thread(documents)
    return PolicyList(city=store.serving.city.name, types=list(plan.types), policies=listed)


@router.post("/v1/policies", summary="Load a policy file", status_code=201, responses=refusals(409, 415, 422, 503))
async def load(given: PolicyFile, request: Request) -> PolicyDocument:
    """Load a file of the folder of the file that was served first, and let it answer from now on if `serve`.

    It is loaded beside what answers, and takes its place at once. A file of another city is refused (409).
    """
    parts = parts_of(request)
    path = path_in(parts, given.file)
    async with parts.loading:
        try:
            policy = await asyncio.to_thread(lambda: load_policy(path, name=given.name).warm_up())
            check_clock(policy, parts.settings)
        except (InputError, OSError) as error:
            raise ProblemError(422, f"file: {error}") from error
        try:
            parts.store.check(policy)
        except PolicyFileError as error:
            raise ProblemError(409, f"file: {error}") from error
        swap = swap_file_of(parts.settings.board)
        if swap is not None and (given.serve or policy.name == parts.store.serving.name):
            try:  # to keep over a restart that it answers; if that cannot be, it does not answer
                await asyncio.to_thread(save_swap, swap, parts.started_with, policy)
            except (OSError, RuncardError) as error:
                raise ProblemError(503, f"the policy could not be kept: {error}", {"Retry-After": "1"}) from error
        parts.store.add(policy, serve=given.serve)
    by = f" by {who}" if (who := request.scope["runcard.who"]) else ""  # without keys nobody has a name
    _log.warning("policy %s, version %s, was loaded%s", policy.name, policy.version, by)
    return policy_document(policy, serving=policy is parts.store.serving)


@router.delete("/v1/policies/{name}", summary="Forget a policy", status_code=204, responses=refusals(404, 409))
async def forget(name: str, request: Request) -> Response:
    """Forget a loaded policy; the one that answers, and closest-first, stay."""
    store = parts_of(request).store
    if name not in store.by_name:
        raise ProblemError(404, f"expected a loaded policy ({', '.join(store.by_name)}), got {name!r:.80}")
    if store.by_name[name] is store.serving or store.by_name[name].path is None:
        raise ProblemError(409, f"expected a policy that does not answer and is not {CLOSEST_FIRST}, got {name}")
    store.forget(name)
    return Response(status_code=204)


def path_in(parts: Parts, name: str) -> Path:
    """The file of that name in the folder of the served file; a ProblemError if it is anywhere else."""
    folder = parts.settings.files[0].resolve().parent
    path = folder / name
    try:
        inside = Path(name).name == name and name not in (".", "..") and path.resolve(strict=True).parent == folder
    except FileNotFoundError:
        inside = True
    except (OSError, ValueError, RuntimeError):  # a name that is too long or has a zero, a link to itself
        inside = False
    if not inside:
        raise ProblemError(422, f"file: expected the name of a file in the folder of the policies, got {name!r:.80}")
    if not path.is_file():
        raise ProblemError(422, f"file: expected a file in the folder of the policies, got {name!r:.80}, which is none")
    return path


def policy_document(policy: LoadedPolicy, *, serving: bool) -> PolicyDocument:
    """A policy as the API shows it."""
    return PolicyDocument(
        name=policy.name,
        version=policy.version,
        method=policy.method,
        serving=serving,
        file=None if policy.path is None else policy.path.name,
        loaded_at=policy.loaded_at,
        periods=[one.name for one in policy.periods],
        slow=policy.slow,
        changed_on_disk=policy.changed_on_disk(),
    )
