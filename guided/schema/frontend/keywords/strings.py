"""Keywords about strings: length, pattern, format. `guided.schema.strings.automaton` defines the languages of patterns and formats.

A pattern that is a plain list of words, such as ``^(on|off)$``, becomes an enumeration, which needs no automaton to distinguish words.
"""

import re
from typing import Any

from guided.errors import LimitError, PatternError, SchemaError
from guided.limits import Limits
from guided.schema.formats import FORMATS, LENGTHS, REFUSED, draft3
from guided.schema.formula.formulas import FALSE
from guided.schema.formula.memo import Memo
from guided.schema.frontend.keywords.counts import count_or
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.site import Site
from guided.schema.strings.ecma import parse_ecma
from guided.schema.strings.languages import known

__all__ = ["check_pattern", "format_of_draft3", "format_of_string", "least_length", "most_length", "pattern"]

# One word, or several in a group, that span the whole text and consist of literal characters.
_WORDS = re.compile(r"\^(?:\((?:\?:)?([\w !\"#%&',/:;<=>@`~|-]*)\)|([\w !\"#%&',/:;<=>@`~-]*))\$", re.ASCII)
# Counts of at least ten.
_COUNTED = re.compile(r"\{\d{2,}|\{\d+,\d{2,}")
_REPEATED = re.compile(r"[*+]|\{\d+,\}")
_troubles: Memo[str] = Memo(4096, 1 << 23)


def least_length(site: Site, _: Any) -> None:
    """``minLength``, with the ``maxLength`` beside it."""
    least, most = count_or(site, "minLength", 0), count_or(site, "maxLength", -1)
    if 0 <= most < least:
        site.strings.append(FALSE)
    elif least or most >= 0:
        site.strings.append(site.atom("length", least, most))


def most_length(site: Site, value: Any) -> None:
    """``maxLength`` alone."""
    if "minLength" not in site.schema:
        least_length(site, value)


def pattern(site: Site, value: Any) -> None:
    """``pattern``."""
    if not isinstance(value, str):
        raise site.wrong("pattern", "pattern must be a string")
    check_pattern(site.lowering.limits, value, pointer_of(site.location), "pattern")
    found = _WORDS.fullmatch(value)
    if found is None:
        site.strings.append(site.atom("pattern", value))
    else:
        words = found[2] if found[1] is None else found[1]
        site.strings.append(site.lowering.strings(words.split("|"), (site.location, "pattern")))


def check_pattern(limits: Limits, source: str, pointer: str, keyword: str) -> None:
    """Raise for a pattern that is invalid, or whose automaton is too large, with its location in the schema."""
    try:
        trouble = _trouble(source, limits)
    except LimitError as error:
        advice = f"the pattern at {pointer}/{keyword} needs too large an automaton: shorten its counts"
        raise LimitError(error.what, error.given, error.limit, advice) from error
    if trouble:
        raise SchemaError(f"the pattern cannot be used: {trouble}", pointer, keyword)


def _may_be_large(source: str) -> bool:
    """Return whether the automaton of a pattern may be much larger than the pattern: a counted repeat may begin at many places.

    The automata of other patterns are made when a text needs them (`python -m benchmarks.first_mask`).
    """
    return bool(_COUNTED.search(source)) and (not source.startswith("^") or bool(_REPEATED.search(source)))


def _trouble(source: str, limits: Limits) -> str:
    """Return the error of a pattern; empty if it is valid."""
    found = _troubles.get((source, limits))
    if found is None:
        try:
            parse_ecma(source, limits)
            if _may_be_large(source):
                known(("pattern", source), limits)
            found = ""
        except PatternError as error:
            found = str(error)
        _troubles.put((source, limits), found)
    return found


def format_of_string(site: Site, value: Any) -> None:
    """``format``: asserted or not, depending on the options."""
    if not isinstance(value, str):
        raise site.wrong("format", "format must be a string")
    mode = site.lowering.options.format
    if mode == "annotate":
        return
    if value in REFUSED:
        site.unenforced("format", f"the format {value!r} cannot be enforced: {REFUSED[value]}")
    elif value in FORMATS:
        site.strings.append(site.atom("format", value))
        if value in LENGTHS:
            site.strings.append(site.atom("length", *LENGTHS[value]))
    elif mode == "strict":
        raise SchemaError(f"the format {value!r} is unknown", pointer_of(site.location), "format")
    else:
        site.lowering.unknown_formats[value] = None


def format_of_draft3(site: Site, value: Any) -> None:
    """``format`` of draft-03."""
    if not isinstance(value, str) or value not in draft3.PATTERNS:
        format_of_string(site, draft3.NAMES.get(value, value) if isinstance(value, str) else value)
    elif site.lowering.options.format != "annotate":
        site.strings.append(site.atom("pattern", draft3.PATTERNS[value]))
