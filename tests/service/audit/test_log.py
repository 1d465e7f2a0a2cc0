"""What both kinds of logs do."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from tests.service.audit.made_up import START, made_up, outcome_of

from runcard.errors import AuditError, InputError, UnknownDecisionError
from runcard.service.audit import AuditLog, open_audit
from runcard.service.audit.log import EPOCH, PAGE, micros_of


def record(log: AuditLog, *numbers: int) -> None:
    """Record decisions, all at once."""

    async def all_of_them() -> None:
        await asyncio.gather(*(log.record(made_up(number)) for number in numbers))

    asyncio.run(all_of_them())


def test_what_is_recorded_is_read_again_also_after_it_was_closed(audit_url: str) -> None:
    """A decision is kept as it was given, with its outcomes in order; an unknown one is None."""
    log = open_audit(audit_url)
    record(log, 1)
    asyncio.run(log.outcome("d1", outcome_of(1, 4.0)))
    asyncio.run(log.outcome("d1", outcome_of(1, 4.0, 9.0) | {"overridden_by": "jd", "override_reason": "=closer"}))
    log.close()
    log = open_audit(audit_url, create=False)
    found = log.decision("d1")
    assert found is not None
    outcomes = found.pop("outcomes")
    assert found == made_up(1)
    assert [len(one["arrivals"]) for one in outcomes] == [1, 2]
    assert outcomes[1]["override_reason"] == "=closer"
    assert log.decision("d2") is None
    assert log.decision("\0") is None
    log.check()
    log.close()


def test_decisions_are_read_in_pages_the_oldest_first(log: AuditLog) -> None:
    """Whatever the order in which they were recorded, within limits of time and number, over several pages."""
    count = 2 * PAGE + 7
    record(log, *reversed(range(count)))
    ids = [f"d{number}" for number in range(count)]
    assert [one["decision_id"] for one in log.decisions()] == ids
    assert [one["decision_id"] for one in log.decisions(limit=PAGE + 1)] == ids[: PAGE + 1]
    since, until = START + timedelta(minutes=3), START + timedelta(minutes=9)
    assert [one["decision_id"] for one in log.decisions(since=since, until=until)] == ids[3:9]
    assert [one["decision_id"] for one in log.decisions(since=since, limit=2)] == ids[3:5]
    assert list(log.decisions(limit=0)) == []


def test_an_id_that_was_used_is_refused_and_the_others_are_recorded(log: AuditLog) -> None:
    """The same decision again is no fault, since it may have been tried again; another one with its id is."""
    record(log, 1)

    async def mixed() -> list[BaseException | None]:
        others = [log.record(made_up(1, reason="another")), log.record(made_up(2)), log.record(made_up(1))]
        unknown, known = log.outcome("d9", outcome_of(9)), log.outcome("d2", outcome_of(2, 1.0))
        return await asyncio.gather(*others, unknown, known, return_exceptions=True)

    another, *fine, unknown, known = asyncio.run(mixed())
    assert isinstance(another, InputError)
    assert "d1: expected a new id" in str(another)
    assert fine == [None, None]
    assert isinstance(unknown, UnknownDecisionError)
    assert known is None
    assert [one["reason"] for one in log.decisions()] == [made_up(1)["reason"]] * 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"decision_id": None}, "expected a decision_id"),
        ({"time": "2026-11-16T21:40:03"}, "expected a time with a zone"),
        ({"price": float("nan")}, "finite numbers"),
        ({"price": {1}}, "plain values"),
    ],
)
def test_a_decision_that_cannot_be_kept_is_refused(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    """It is a sentence, and the log goes on."""
    log = open_audit(f"sqlite:///{tmp_path / 'audit.db'}")
    with pytest.raises(InputError, match=words):
        asyncio.run(log.record(made_up(1, **changes)))
    record(log, 2)
    log.close()
    with pytest.raises(AuditError, match="closed"):
        record(log, 3)


def test_text_that_is_at_hand_is_kept_as_it_is(log: AuditLog) -> None:
    """The service encodes an answer once, and letters of any language and the zero letter come back."""
    asyncio.run(log.record(made_up(1), text='{"decision_id":"d1","reason":"caf\\u00e9 \\u0000 \\ud83d\\ude92"}'))
    assert log.decision("d1") == {"decision_id": "d1", "reason": "café \0 🚒", "outcomes": []}


@pytest.mark.parametrize("url", ["", "sqlite://", "mysql://host/x", "sqlite:///"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """The sentence says what an address looks like."""
    with pytest.raises(InputError, match="expected a path, sqlite:///path or postgresql://host/database"):
        open_audit(url)


def test_a_log_that_is_only_read_is_not_made(audit_url: str) -> None:
    """A misspelt name must not become an empty log."""
    with pytest.raises(InputError, match="there is no"):
        open_audit(audit_url, create=False)


def test_a_time_is_stored_to_the_microsecond() -> None:
    """Every moment is the whole number of microseconds that it is, or midnight would fall into the month before."""
    for number in range(1000):
        micros = 31 * number**5 * (-1) ** number + number
        assert micros_of(EPOCH + timedelta(microseconds=micros)) == micros


def test_decisions_are_found_by_their_reference(log: AuditLog) -> None:
    """The latest first, with their outcomes; a reference that no database can hold is kept, and is not found."""
    for number, reference in enumerate(["7", "8", "7", None, "7\0"]):
        asyncio.run(log.record(made_up(number, reference=reference)))
    asyncio.run(log.outcome("d0", outcome_of(0, 4.0)))
    assert [one["decision_id"] for one in log.referenced("7")] == ["d2", "d0"]
    assert [len(one["outcomes"]) for one in log.referenced("7")] == [0, 1]
    assert log.referenced("7\0") == log.referenced("9") == []
    kept = log.decision("d4")
    assert kept is not None
    assert kept["reference"] == "7\0"
