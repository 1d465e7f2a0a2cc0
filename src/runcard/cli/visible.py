"""Control characters made visible, so that none reaches a terminal."""

from typing import Final

_CONTROLS: Final = [*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
"""Those of ASCII and its extension, ends of lines and paragraphs, and what turns the direction of writing around."""

_SHOWN: Final = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _CONTROLS}
_SHOWN_IN_LINES: Final = {code: shown for code, shown in _SHOWN.items() if code != ord("\n")}


def visible(text: str) -> str:
    """The text as one line, with control characters as \\x1b or \\u202e."""
    return text.translate(_SHOWN)


def visible_lines(text: str) -> str:
    """The same of a text that has several lines."""
    return text.translate(_SHOWN_IN_LINES)
