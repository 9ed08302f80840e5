"""Formats of draft-03 (5.23) that later drafts renamed or dropped."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["NAMES", "PATTERNS"]

# Name in draft-03 -> current name.
NAMES: Mapping[str, str] = MappingProxyType({"host-name": "hostname", "ip-address": "ipv4"})

# A time has no offset; a color is one of CSS 2.1, by name or by hexadecimal digits (CSS 2.1, 4.3.6).
PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "time": "^([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)$",
        "color": (
            "^(#[0-9A-Fa-f]{3}|#[0-9A-Fa-f]{6}|(?i:aqua|black|blue|fuchsia|gray|green|lime|maroon|navy|olive|orange|purple|red|silver"
            "|teal|white|yellow))$"
        ),
    }
)
