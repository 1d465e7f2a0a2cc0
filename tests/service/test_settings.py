"""The settings check themselves."""

from pathlib import Path

import pytest

from runcard.errors import InputError
from runcard.service.settings import ServiceSettings

FILES = (Path("a.policy"),)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"files": ()}, "expected a policy file to serve, got none"),
        ({"host": "0.0.0.0"}, "expected a file of API keys"),
        ({"host": "fire.example"}, "expected a file of API keys"),
        ({"limit_ms": 0.0}, "expected limit_ms > 0"),
        ({"limit_ms": 1e9}, "expected limit_ms <= 60000"),
        ({"requests_per_second": -1.0}, "expected requests_per_second > 0"),
        ({"body_bytes": 0}, "expected body_bytes >= 1"),
        ({"port": 70_000}, "expected a port from 0 to 65535"),
        ({"time_zone": "Mars/Olympus"}, "expected a time zone such as"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], words: str) -> None:
    """Each setting that cannot be meant is a sentence, and other machines are let in only with keys."""
    with pytest.raises(InputError, match=words):
        ServiceSettings(**({"files": FILES} | wrong))  # type: ignore[arg-type]


def test_keys_open_the_service_to_other_machines() -> None:
    """With a file of keys any host may be listened on."""
    assert ServiceSettings(files=FILES, host="0.0.0.0", keys=Path("keys.json")).host == "0.0.0.0"
