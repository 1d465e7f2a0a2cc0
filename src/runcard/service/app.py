"""The app: one process, one event loop, the parts of the service put together."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from fastapi import FastAPI

from runcard import __version__
from runcard.output_file import check_output_file
from runcard.service.answers import Answerer
from runcard.service.audit import AuditLog, open_audit
from runcard.service.board import Board
from runcard.service.board_file import board_held, restore_board
from runcard.service.description import describe
from runcard.service.explorer.page import page_routes
from runcard.service.explorer.scenes import make_scenes
from runcard.service.fallback import Fallback
from runcard.service.keys import KeyRing
from runcard.service.limits import Gate
from runcard.service.parts import Parts
from runcard.service.policies import PolicyStore, check_clock, load_policy
from runcard.service.problems import add_problem_handlers
from runcard.service.routes import audit as audit_routes
from runcard.service.routes import board, cards, decisions, explorer, health, metrics, policies
from runcard.service.settings import ServiceSettings
from runcard.service.shortcut import Shortcut
from runcard.service.swap_file import restore_swap, swap_file_of
from runcard.service.turns import Turns

DESCRIPTION = "Which units to send to an incident, why, and a record of every answer."


def make_app(settings: ServiceSettings, *, audit: AuditLog | None = None) -> FastAPI:
    """The service with its policies loaded: whatever is wrong with them is said before it answers anybody."""
    keys = None if settings.keys is None else KeyRing(settings.keys)
    with ExitStack() as stack:
        if settings.board is not None:
            stack.enter_context(board_held(settings.board))
        parts = make_parts(settings, audit)
        held = stack.pop_all()  # until the service ends

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        parts.board.close()
        parts.answerer.close()
        parts.audit.close()
        held.close()

    app = FastAPI(
        title="runcard", version=__version__, description=DESCRIPTION, lifespan=life, docs_url=None, redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # its own metrics are at /metrics
    )  # fmt: skip
    app.state.parts, app.state.keys = parts, keys
    app.state.scenes, app.state.scene_turns, app.state.day_turns = make_scenes(parts), Turns(), Turns()
    add_problem_handlers(app)
    for one in (decisions, audit_routes, board, cards, policies, health, metrics, explorer):
        app.include_router(one.router)
    app.include_router(page_routes())
    describe(app)
    app.add_middleware(Shortcut, path="/v1/decisions", answer=decisions.decide)
    app.add_middleware(Gate, settings=settings, keys=keys, metrics=parts.metrics)
    return app


def make_parts(settings: ServiceSettings, audit: AuditLog | None = None) -> Parts:
    """The parts of a service, ready to answer."""
    first, *others = settings.files
    store = PolicyStore(load_policy(first).warm_up())
    for path in others:
        store.add(load_policy(path).warm_up(), serve=False)
    started_with, swap = store.serving, swap_file_of(settings.board)
    if swap is not None:
        check_output_file(swap)
        restore_swap(swap, store)
    for policy in store.by_name.values():
        check_clock(policy, settings)
    units = Board(store.serving.plan.units)
    if settings.board is not None:
        assert store.serving.plan.ground is not None
        restore_board(units, settings.board, store.serving.plan.ground)
    answerer = Answerer(settings, store, units, Fallback(store, settings.fallback))
    if audit is None:  # the last thing that can fail, so that nothing is left open
        audit = open_audit(settings.audit)
    return Parts(settings=settings, store=store, started_with=started_with, board=units, answerer=answerer, audit=audit)
