"""Keywords about strings: length, pattern, format. `guided.schema.strings.automaton` defines the languages of patterns and formats.

A pattern that is a plain list of words, such as ``^(on|off)$``, becomes an enumeration, which needs no automaton to distinguish words.
"""

import re
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from guided.automata.pushdown import PER_CONTROL
from guided.errors import LimitError, PatternError, SchemaError
from guided.limits import Limits
from guided.patterns.anchors import FIRST, LAST
from guided.patterns.charset import Charset
from guided.patterns.tree import Chars, Concat, Node, Repeat
from guided.schema.formats import FORMATS, LENGTHS, REFUSED, draft3
from guided.schema.formula.formulas import FALSE
from guided.schema.formula.memo import Memo
from guided.schema.frontend.keywords.counts import count_or
from guided.schema.frontend.location import pointer_of
from guided.schema.frontend.names import places_of
from guided.schema.frontend.site import Site
from guided.schema.strings.automaton import string_automaton
from guided.schema.strings.counted import CELLS
from guided.schema.strings.ecma import parse_ecma
from guided.schema.strings.languages import ANY_LENGTH, known

__all__ = [
    "check_pattern",
    "format_of_draft3",
    "format_of_string",
    "least_length",
    "most_length",
    "pattern",
]

# One word, or several in a group, that span the whole text and consist of literal characters.
_WORDS = re.compile(r"\^(?:\((?:\?:)?([\w !\"#%&',/:;<=>@`~|-]*)\)|([\w !\"#%&',/:;<=>@`~-]*))\$", re.ASCII)
# Patterns of up to so many characters, with repeats written out (one in so many of the states allowed), surely have small enough automata;
# longer ones are made when the schema is compiled.
_SURELY_FEWER = 8
# A large count of all characters, as of ^(?=.{1,253}$)[a-z.]+$, which a register counts, too; for host names, one more period may come.
_LENGTH = re.compile(r"\^\(\?=\.\{(\d+),(\d{3,})\}(\\\.\?)?\$\)")
# States that count the characters of a repeated set.
_LARGE = 2_000

# An automaton of spellings may have so many times the states of one of characters, and no index may grow by more than its limit.
_SPELLED = 16
# The guess of an automaton's states may be too low by this factor.
_SURELY_LESS = 2
# Steps of a compile that any automaton takes, however small: a millisecond.
_PER_AUTOMATON = 100_000
# Steps of reading a pattern, and of each of its characters; of a character that is written again, and of an interval of its set.
_PER_PATTERN, _PER_CHARACTER, _PER_REWRITTEN, _PER_INTERVAL = 3_000, 100, 50, 100

# A pattern, its least and greatest length, and how a text ends that may be longer by one.
_Counted: TypeAlias = tuple[str, int, int, str]


class _Judgement(NamedTuple):
    """The error of a pattern, empty if it is valid; the steps of its automaton, if it was built; its states, about; and `_counted`."""

    trouble: str
    steps: int
    n_states: int
    counted: _Counted | None


_judgements: Memo[_Judgement] = Memo(4096, 1 << 23)


def least_length(site: Site, _: Any) -> None:
    """``minLength``, with the ``maxLength`` beside it."""
    least, most = count_or(site, "minLength", 0), count_or(site, "maxLength", -1)
    if 0 <= most < least:
        site.strings.append(FALSE)
    elif least or most >= 0:
        site.strings.append(site.formulas.atom(("length", least, most)))


def most_length(site: Site, value: Any) -> None:
    """``maxLength`` alone."""
    if "minLength" not in site.schema:
        least_length(site, value)


def pattern(site: Site, value: Any) -> None:
    """``pattern``."""
    if not isinstance(value, str):
        raise site.wrong("pattern", "pattern must be a string")
    counted = check_pattern(site, value, "pattern")
    found = _WORDS.fullmatch(value)
    if counted is not None:
        source, least, most, last = counted
        formulas, atom = site.formulas, site.formulas.atom
        length = atom(("length", least, most))
        if last:
            longer = formulas.conjunction([atom(("pattern", last)), atom(("length", least + 1, most + 1))])
            length = formulas.disjunction([length, longer])
        site.strings += [atom(("pattern", source)), length]
    elif found is None:
        site.strings.append(site.formulas.atom(("pattern", value)))
    else:
        words = found[2] if found[1] is None else found[1]
        site.strings.append(site.lowering.strings(words.split("|"), (site.location, "pattern")))


def check_pattern(site: Site, source: str, keyword: str) -> _Counted | None:
    """Raise for a pattern that is invalid, or whose automaton is too large with those before it, with its location in the schema.

    Returns the pattern without its count, and the lengths, if its automaton should not count (`_counted`).
    """
    limits, steps, pointer = site.lowering.limits, site.lowering.pattern_steps, pointer_of(site.location)
    if (key := ("judged", source)) not in site.formulas.paid:
        site.formulas.paid.add(key)
        reading = _PER_PATTERN + _PER_CHARACTER * len(source)
        steps.spend(reading, f"the patterns up to that at {pointer}/{keyword} are too many or too long")
    advice = f"the pattern at {pointer}/{keyword} needs too large an automaton: shorten its counts, or write [a-z] for \\p{{L}} or \\w"
    before = steps.spent
    try:
        trouble, spent, n_states, counted = _judged(source, limits, steps.left)
        steps.spend(spent, "")
        is_large = n_states * PER_CONTROL > limits.growth_bytes // _SURELY_LESS
        if keyword == "pattern" and is_large and _WORDS.fullmatch(source) is None:
            _check_size(site, site.formulas.atom(("pattern", source if counted is None else counted[0])))
    except LimitError as error:
        # Why with the steps before it: the error's limit is what other patterns have left, unless they were added.
        given = error.given + (before if error.what == "steps" and steps.spent == before else 0)
        raise LimitError(error.what, given, getattr(limits, error.what), advice) from error
    if trouble:
        raise SchemaError(f"the pattern cannot be used: {trouble}", pointer, keyword)
    return counted


def _check_size(site: Site, formula: int) -> None:
    """Raise for strings whose automaton is so large that no text could contain one."""
    lowering = site.lowering
    most_bytes, most_steps = lowering.limits.growth_bytes, lowering.limits.call_steps
    # PERF: one that is too large to be kept would be made again for each part of a schema that a report looks at.
    if (made := ("cells", formula)) in lowering.formulas.paid:
        return
    found = string_automaton(lowering.formulas, (formula,), lowering.options, lowering.limits)
    n_states, n_cells = found.automaton.n_states, found.automaton.table.size
    lowering.pattern_steps.spend(n_cells, "")
    if (needed := n_states * PER_CONTROL * 4 // 3) > most_bytes:
        raise LimitError("growth_bytes", needed, most_bytes, "")
    # A call makes the automaton and the controls of its states, and looks at its cells if a register counts characters.
    if (steps := found.cost + 2 * n_states + n_cells // CELLS) > most_steps:
        raise LimitError("call_steps", steps, most_steps, "")
    lowering.formulas.paid.add(made)


def _judged(source: str, limits: Limits, most: int) -> _Judgement:
    """Return what is known of a pattern; building its automaton may take ``most`` steps."""
    found = _judgements.get((source, limits))
    if found is None:
        try:
            tree = parse_ecma(source, limits)
            length = _LENGTH.match(source)
            # Unless the length is only of the first of several alternatives.
            if length is not None and isinstance(tree, Concat) and tree.items[0] is FIRST:
                rest = f"^(?=.*$){source[length.end() :]}"
                found = _judged(rest, limits, most)._replace(
                    counted=(rest, int(length[1]), int(length[2]), r"\.$" if length[3] else "")
                )
            else:
                found = _judged_as_written(source, tree, limits, most)
        except PatternError as error:
            found = _Judgement(str(error), 0, 0, None)
        _judgements.put((source, limits), found)
    return found


def _judged_as_written(source: str, tree: Node, limits: Limits, most: int) -> _Judgement:
    counted, more = _counted(source, tree, limits) or (None, 0)
    places = places_of(tree)
    steps, n_states = 0, 0 if counted is not None else places.spelled
    # A text may lead to all places at once, at each of as many characters.
    is_long = places.states > limits.nfa_states // _SURELY_FEWER or places.states**2 > most
    many = min(limits.states, limits.growth_bytes // (_SPELLED * PER_CONTROL))
    if counted is None and (is_long or places.at_once(source) > many):
        built = known(("pattern", source), limits, most)
        steps, n_states = _PER_AUTOMATON + built.steps, max(n_states, _SPELLED * len(built.dfa.table))
    return _Judgement("", steps + more, n_states, counted)


def _counted(source: str, tree: Node, limits: Limits) -> tuple[_Counted, int] | None:
    r"""Split a large repeat of a set, such as ``^\p{L}{1,999}$``, into a pattern without the count and the lengths of its texts.

    A register counts them (`guided.schema.strings.counted`). An automaton that does has a state for each count and interval of the set.
    Returns the steps of making the pattern's automaton, too.
    """
    charset, least, most = _repeat(tree) or (Charset.EMPTY, 0, 0)
    if max(least, most or 0) * len(charset.ranges) <= _LARGE:
        return None
    # PERF: as written, if the count comes last; the members of \p{L} take 5 ms to parse.
    any_number = source.rpartition("{")[0] + "*$"
    if not (source.endswith("}$") and _is_any_number(any_number, charset, limits)):
        members = "".join(rf"\u{{{low:x}}}-\u{{{high:x}}}" for low, high in charset.ranges)
        any_number = f"^[{members}]*$"
    steps = _PER_REWRITTEN * len(any_number) + _PER_INTERVAL * len(charset.ranges)
    return (any_number, least, ANY_LENGTH if most is None else most, ""), steps


def _is_any_number(source: str, charset: Charset, limits: Limits) -> bool:
    """Return whether a pattern matches the texts over a set of characters."""
    with suppress(PatternError):
        return _repeat(parse_ecma(source, limits)) == (charset, 0, None)
    return False


def _repeat(tree: Node) -> tuple[Charset, int, int | None] | None:
    """Return the set of characters and the least and greatest count of a repeat that is the whole pattern."""
    match tree:
        case Concat((first, Repeat(Chars(charset), least, most), last)) if first is FIRST and last is LAST:
            return charset, least, most
    return None


def format_of_string(site: Site, value: Any) -> None:
    """``format``: asserted or not, depending on the options."""
    if not isinstance(value, str):
        raise site.wrong("format", "format must be a string")
    mode = site.lowering.options.format
    if mode == "annotate":
        return
    own = dict(site.lowering.options.formats)
    if value in own:
        site.strings.append(site.formulas.atom(("texts", own[value])))
    elif value in REFUSED:
        site.unenforced("format", f"the format {value!r} cannot be enforced: {REFUSED[value]}")
    elif value in FORMATS:
        site.strings.append(site.formulas.atom(("format", value)))
        if value in LENGTHS:
            site.strings.append(site.formulas.atom(("length", *LENGTHS[value])))
    elif mode == "strict":
        raise SchemaError(f"the format {value!r} is unknown", pointer_of(site.location), "format")
    else:
        site.lowering.unknown_formats[value] = None


def format_of_draft3(site: Site, value: Any) -> None:
    """``format`` of draft-03."""
    if not isinstance(value, str) or value not in draft3.PATTERNS:
        format_of_string(site, draft3.NAMES.get(value, value) if isinstance(value, str) else value)
    elif site.lowering.options.format != "annotate":
        site.strings.append(site.formulas.atom(("pattern", draft3.PATTERNS[value])))
