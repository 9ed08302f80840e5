"""``guided check``: test whether a text is accepted, and show where it fails."""

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED, REJECTED, standard_input
from guided.cli.output import COMPILING, as_text, console, excerpt, print_json, print_table, shown_bytes
from guided.cli.specs import ConstraintOptions, EosOption, JsonOption, VocabularyOption
from guided.cli.vocabularies import read_vocabulary
from guided.progress import progress

if TYPE_CHECKING:
    from guided.cli.expected import Language
    from guided.engine.index import Index
    from guided.engine.specs import AnySpec
    from guided.errors import CallError
    from guided.lalr.prefix_position import PrefixPosition

# The name of a member with the comma before it, other strings, numbers and literals, and other characters.
_TOKENS = re.compile(r',\s*"(?:[^"\\]|\\.)*"(?=\s*:)|"(?:[^"\\]|\\.)*"?|[-+.\w]+|.', re.DOTALL)

__all__ = ["Rejection", "check", "first_rejection", "position_as_data", "prefix_position_of", "print_place"]


def check(
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="[INDEX] TEXT",
            help="An index file, unless one of the options below gives the constraint; then the text (- reads standard input).",
        ),
    ],
    *,
    given: ConstraintOptions,
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    as_json: JsonOption = False,
) -> int:
    r"""Check whether a text is accepted; if not, show where it fails and what was expected.

    The constraint is an index file, or one of --regex, --choice, --tools, --json-schema, --grammar and --spec.

    With --vocabulary the text is also split into tokens and checked token by token, as a model would generate it. Of all
    splits, the one with the fewest tokens is used.

    The exit code is 0 if the text is accepted, 1 if it is rejected, 2 after an error.

    For example:

      guided check -O ascii=true --regex '\d{4}-\d{2}' 2024-1x
      guided check --choice yes --choice no maybe
      guided check --json-schema schema.json '{"name": "Ada"}'
      guided check --grammar python - < program.py
      guided check indices/date.index 2024-10
      git log -1 --format=%s | guided check --regex '[a-z]+: .{1,60}' -
    """
    what = given.constraint(arguments, "TEXT")
    data = _standard_input() if what.text == "-" else os.fsencode(what.text or "")
    language, spec, notes = what.language()
    rejection = first_rejection(language, data)
    steps = None
    if vocabulary is not None:
        with progress(COMPILING):
            index = what.index(read_vocabulary(vocabulary, eos))
        steps = _steps(index, data)
    accepted = rejection is None and (steps is None or all(step["allowed"] for step in steps))
    reason = None if rejection is None else _call_error(spec, data)
    cause = "" if rejection is None else _cause(spec, data, rejection)
    position = None if rejection is None else prefix_position_of(spec, data[: rejection.byte])
    # Those on grammars are for their authors: `guided grammar` prints them.
    notes = () if hasattr(spec, "prefix_position") else notes
    if as_json:
        call_error = {} if reason is None else {"call_error": {"kind": reason.kind, "reason": reason.reason}}
        where = {**(asdict(rejection) if rejection else {}), **position_as_data(position)}
        remarks: dict[str, Any] = {"reason": cause} if cause else {}
        if notes:
            remarks["notes"] = list(notes)
        if steps is not None:
            remarks["tokens"] = [{**step, "text": as_text(step["text"])} for step in steps]
        print_json({"accepted": accepted, **where, **call_error, **remarks})
    else:
        _show(data, rejection, accepted, position)
        if reason is not None:
            console().print(f"tool error ({reason.kind}): {reason.reason}")
        if cause:
            console().print(f"reason: {cause}")
        for note in notes:
            console().print(f"note: {note}")
        if steps is not None:
            _show_steps(steps)
    return ACCEPTED if accepted else REJECTED


@dataclass(frozen=True, slots=True)
class Rejection:
    """The position at which a text leaves a language.

    Attributes
    ----------
    byte, character : int
        Offset of the first rejected character, in bytes and in characters; the length of the text if it ends too early.
    ends_early : bool
        Whether the whole text is a prefix of an accepted one.
    expected : str
        Description of what could follow there.
    """

    byte: int
    character: int
    ends_early: bool
    expected: str


def first_rejection(language: "Language", data: bytes) -> Rejection | None:
    """Return where a text leaves a language; None if it is accepted. O(len(data))."""
    from guided.cli.expected import characters_after, describe

    state, count = language.trace(0, data)
    ends_early = count == len(data)
    if ends_early and language.is_accepting(state):
        return None
    # Without the bytes of an incomplete character at the end.
    decoder = getincrementaldecoder("utf-8")(errors="surrogateescape")
    decoder.decode(data[:count])
    begin = count - len(decoder.getstate()[0])
    before, _ = language.trace(0, data[:begin])
    expected = describe(characters_after(language, before), may_end=language.is_accepting(before))
    return Rejection(begin, len(_decoded(data[:begin])), ends_early, expected)


def prefix_position_of(spec: object, data: bytes) -> "PrefixPosition | None":
    """Return the state of a grammar after a text; None for other specs, and if the lexer rejects the text."""
    prefix_position = getattr(spec, "prefix_position", None)
    found: PrefixPosition | None = None if prefix_position is None else prefix_position(data)
    return found


def position_as_data(position: "PrefixPosition | None") -> dict[str, Any]:
    """Return the state as JSON data."""
    return {} if position is None else {"terminals": list(position.terminals), "lexeme_begin": position.begin}


def _steps(index: "Index", data: bytes) -> list[dict[str, Any]]:
    """The text's tokens up to the first that is rejected, and the end of the text; with the number of tokens that are allowed there."""
    from guided.vocabulary.splitting import fewest_tokens

    vocabulary = index.vocabulary
    tokens = fewest_tokens(vocabulary, data)
    if tokens is None:
        reason = "no sequence of tokens spells it"
        return [{"id": None, "text": data, "allowed": False, "choices": 0, "reason": reason}]
    guide, steps = index.guide(), []
    for token in [*tokens, vocabulary.eos[0]]:
        verdict, choices = guide.explain(token), len(index.allowed(guide.state))
        said = {"allowed": verdict.allowed, "choices": choices, "reason": verdict.reason}
        steps.append({"id": token, "text": verdict.data or b"", **said})
        if not verdict.allowed:
            break
        guide.advance(token)
    return steps


def _call_error(spec: "AnySpec | None", data: bytes) -> "CallError | None":
    """The parse error of a text with tool calls, if there is one."""
    from guided.calls.parse import parse_text
    from guided.calls.spec import Tools
    from guided.errors import CallError

    if isinstance(spec, Tools):
        try:
            parse_text(data, spec)
        except CallError as error:
            return error
    return None


def _cause(spec: "AnySpec | None", data: bytes, rejection: Rejection) -> str:
    """What a schema finds wrong with a text up to the string, number or name that is rejected, else with its whole value."""
    from guided.engine.json_schema import JsonSchema
    from guided.limits import Limits
    from guided.schema.frontend.json_values import parse_json

    if not isinstance(spec, JsonSchema):
        return ""
    text = _decoded(data)
    ends = (found.end() for found in _TOKENS.finditer(text))
    end = next((end for end in ends if end > rejection.character), len(text))
    # A number at the end is whole.
    if text[end - 1 : end].isdigit() and not text[end:].strip(" \t\r\n]}"):
        end = len(text)
    found = spec.diagnosis(text[:end].encode(errors="surrogateescape"), Limits())
    with suppress(ValueError):
        parse_json(data)
        found = found or spec.diagnosis(data, Limits())
    return found


def _show(data: bytes, rejection: Rejection | None, accepted: bool, position: "PrefixPosition | None") -> None:
    out = console()
    if rejection is None:
        out.print("accepted" if accepted else "rejected by the vocabulary only", style="green" if accepted else "red")
        return
    text = _decoded(data)
    if rejection.ends_early:
        where = "the text ends too early"
    else:
        char = text[rejection.character]
        shown = f"the byte {ord(char) - 0xDC00:#04x}" if "\udc80" <= char <= "\udcff" else repr(char)
        where = f"character {rejection.character} ({shown}) is not allowed there"
    out.print("rejected", style="red", end="")
    out.print(f": {where}")
    print_place(text, rejection, position)


def print_place(text: str, rejection: Rejection, position: "PrefixPosition | None") -> None:
    """Print a text around the place where it is rejected, and what was expected there."""
    from guided.guide.explanation import describe_terminals

    for line in excerpt(text, rejection.character):
        console().print(line)
    terminals = "" if position is None else describe_terminals(position.terminals, position.begin)
    console().print(f"expected {rejection.expected}{terminals}")


def _show_steps(steps: Sequence[dict[str, Any]]) -> None:
    out = console()
    out.print("token by token (the split with the fewest tokens):")
    rows = [("id", "token", "choices", "verdict")]
    for step in steps:
        name = shown_bytes(step["text"]) if step["text"] else "(end of text)"
        verdict = "ok" if step["allowed"] else f"refused: {step['reason']}"
        rows.append(("" if step["id"] is None else str(step["id"]), name, f"{step['choices']:,}", verdict))
    print_table(rows, indent=4)


def _standard_input() -> bytes:
    """Read all of standard input, without the final newline that programs write."""
    data = standard_input()
    return data.removesuffix(b"\n").removesuffix(b"\r") if data.endswith(b"\n") else data


def _decoded(data: bytes) -> str:
    """Decode a text, with a lone surrogate for each byte that is not UTF-8."""
    return data.decode(errors="surrogateescape")
