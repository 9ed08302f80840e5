"""The formats of JSON Schema, each as a pattern of values that follows its specification exactly.

`FORMATS` has the formats that are regular, or nearly so: the docstring of a format's function lists the part that is excluded from the
language, so every accepted text is valid. `REFUSED` has the names of the others.

Two formats bound the length of the whole text in addition to its structure (`LENGTHS`). As one automaton, both constraints need ten
thousand states and more; separately they need hundreds. So the bound is not part of the pattern: conjoin ``("length", *LENGTHS[name])``
with ``("format", name)``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from guided.patterns.tree import Node
from guided.schema.formats.dates import date, date_time, duration, time
from guided.schema.formats.expressions import regex
from guided.schema.formats.hosts import email, hostname, idn_email, ipv4, ipv6
from guided.schema.formats.references import (
    iri,
    iri_reference,
    json_pointer,
    relative_json_pointer,
    uri,
    uri_reference,
    uri_template,
    uuid,
)

__all__ = ["FORMATS", "LENGTHS", "REFUSED"]

FORMATS: Mapping[str, Callable[[], Node]] = MappingProxyType(
    {
        "date": date,
        "date-time": date_time,
        "duration": duration,
        "email": email,
        "hostname": hostname,
        "idn-email": idn_email,
        "ipv4": ipv4,
        "ipv6": ipv6,
        "iri": iri,
        "iri-reference": iri_reference,
        "json-pointer": json_pointer,
        "regex": regex,
        "relative-json-pointer": relative_json_pointer,
        "time": time,
        "uri": uri,
        "uri-reference": uri_reference,
        "uri-template": uri_template,
        "uuid": uuid,
    }
)

# Minimum and maximum characters: RFC 1123 (without the length of the root label), and RFC 5321, 4.5.3.1.3 without the brackets.
LENGTHS: Mapping[str, tuple[int, int]] = MappingProxyType({"hostname": (1, 253), "email": (3, 254)})

# Formats that no automaton decides, and why.
REFUSED: Mapping[str, str] = MappingProxyType(
    {"idn-hostname": "whether a label's Punycode fits into 63 octets, and is canonical, is not a regular property"}
)
