"""``guided explain``: show why a token is or is not allowed after a text."""

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from guided.cli.boundary import ACCEPTED, REJECTED, UsageError
from guided.cli.check import first_rejection, position_as_data, prefix_position_of, print_place
from guided.cli.output import COMPILING, as_text, console, print_json, shown_bytes
from guided.cli.specs import ConstraintOptions, EosOption, JsonOption, VocabularyOption
from guided.cli.vocabularies import read_vocabulary
from guided.progress import progress
from guided.vocabulary.splitting import fewest_tokens

if TYPE_CHECKING:
    from guided.engine.index import Index
    from guided.guide.explanation import Explanation
    from guided.guide.guide import Guide
    from guided.lalr.prefix_position import PrefixPosition
    from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["explain"]


def explain(
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[INDEX] [TOKEN]",
            help="An index file, unless one of the options below gives the constraint; then a token: its id, the name of a "
            "special token, or the token's text.",
        ),
    ] = None,
    *,
    given: ConstraintOptions,
    after: Annotated[str, typer.Option("--after", metavar="TEXT", help="The text before the token.")] = "",
    vocabulary: VocabularyOption = None,
    eos: EosOption = None,
    as_text: Annotated[
        bool, typer.Option("--text", help="Read TOKEN as text, even if it looks like an id or a name.")
    ] = False,
    sample: Annotated[int, typer.Option("--sample", min=0, help="How many of the allowed tokens to show.")] = 12,
    as_json: JsonOption = False,
) -> int:
    r"""Explain why a token is or is not allowed after a text, and show which tokens are.

    The constraint is an index file, or one of --regex, --choice, --tools, --json-schema, --grammar and --spec.

    Without TOKEN only the allowed tokens are shown. Text that is not a single token is split into the fewest tokens, and
    each is explained up to the first that is not allowed. Without --vocabulary, the default model's vocabulary is used.

    The exit code is 0 if the token is allowed, 1 if it is not, 2 after an error.

    For example:

      guided explain -O ascii=true --regex '\d{4}-\d{2}' --after 2024 -- -1
      guided explain --choice yes --choice no --vocabulary tokenizer.json maybe
      guided explain indices/date.index --after 2024-
    """
    what = given.constraint(arguments, "TOKEN", optional=True)
    words = read_vocabulary(vocabulary, eos)
    tokens = None if what.text is None else _tokens_of(what.text, words, as_text=as_text)
    with progress(COMPILING):
        index = what.index(words)
    guide = index.guide()
    prefix = os.fsencode(after)
    before = fewest_tokens(words, prefix)
    if before is None or guide.advance_many(before) < len(before):
        return _show_dead(index, prefix, as_json=as_json)
    facts = _facts(index, guide, prefix, sample)
    verdicts = _verdicts(guide, tokens or [])
    if as_json:
        print_json({"after": after, **_facts_as_data(facts), "verdicts": [_as_data(verdict) for verdict in verdicts]})
    else:
        _show(prefix, facts, len(words), verdicts, is_one=len(tokens or []) == 1)
    return ACCEPTED if all(verdict.allowed for verdict in verdicts) else REJECTED


def _facts(index: "Index", guide: "Guide", prefix: bytes, count: int) -> dict[str, Any]:
    """Return the state after a text, texts as bytes: what may follow, the first ``count`` allowed tokens, and a grammar's terminals."""
    allowed = index.allowed(guide.state).tolist()
    spelled = [(token, data) for token in allowed if (data := index.vocabulary[token])]
    return {
        "allowed": len(allowed),
        "may_end": guide.is_accepting,
        "least_tokens": guide.remaining,
        "forced": guide.forced(),
        "position": prefix_position_of(index.origin and index.origin.spec, prefix),
        "sample": spelled[:count],
        "has_more": len(spelled) > count,
    }


def _facts_as_data(facts: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: facts[name] for name in ("allowed", "may_end", "least_tokens")},
        "forced": as_text(facts["forced"]),
        **position_as_data(facts["position"]),
        "sample": [{"id": token, "text": as_text(data)} for token, data in facts["sample"]],
    }


def _tokens_of(given: str, vocabulary: "Vocabulary", *, as_text: bool) -> list[int]:
    if not as_text and given in vocabulary.special:
        return [vocabulary.special[given]]
    if not as_text and given.isdecimal():
        if int(given) >= vocabulary.size:
            raise UsageError(f"no token {given}: ids are 0 to {vocabulary.size - 1} (--text reads it as text)")
        return [int(given)]
    data = os.fsencode(given)
    tokens = fewest_tokens(vocabulary, data)
    if not tokens:
        reason = "is empty" if not data else "cannot be spelled with this vocabulary"
        raise UsageError(f"TOKEN {shown_bytes(data)} {reason}")
    return tokens


def _verdicts(guide: "Guide", tokens: list[int]) -> list["Explanation"]:
    """The verdicts on consecutive tokens, up to the first rejected one."""
    verdicts = []
    for token in tokens:
        verdicts.append(guide.explain(token))
        if not verdicts[-1].allowed:
            break
        guide.advance(token)
    return verdicts


def _show(prefix: bytes, facts: dict[str, Any], n_tokens: int, verdicts: list["Explanation"], *, is_one: bool) -> None:
    from guided.guide.explanation import describe_terminals

    out = console()
    out.print(f"after {shown_bytes(prefix)}: {facts['allowed']:,} of {n_tokens:,} tokens are allowed")
    if facts["sample"]:
        pieces = [f"{token} {shown_bytes(data)}" for token, data in facts["sample"]]
        out.print(f"    {', '.join([*pieces, '...'] if facts['has_more'] else pieces)}")
    if facts["may_end"]:
        out.print("    the text may end here")
    else:
        out.print(f"    at least {facts['least_tokens']} more token{'s' * (facts['least_tokens'] != 1)} to the end")
    position: PrefixPosition | None = facts["position"]
    if position is not None and position.terminals:
        out.print(f"    expected{describe_terminals(position.terminals, position.begin).removeprefix(', that is')}")
    if facts["forced"]:
        out.print(f"    the text must continue with {shown_bytes(facts['forced'])}")
    if verdicts and not is_one:
        out.print("the text is not a single token; split into the fewest tokens:")
    for verdict in verdicts:
        spelled = "which has no bytes" if verdict.data is None else shown_bytes(verdict.data)
        out.print(f"token {verdict.token}, {spelled}, is ", end="")
        out.print("allowed" if verdict.allowed else "not allowed", style="green" if verdict.allowed else "red", end="")
        expected = "" if verdict.allowed else f"; expected {verdict.expected}{verdict.shown_terminals}"
        out.print(f": {verdict.reason}{expected}")


def _show_dead(index: "Index", prefix: bytes, *, as_json: bool) -> int:
    """Report where a text fails that is not a prefix of an accepted one."""
    from guided.index.regular import RegularIndex

    tables = index.tables
    rejection = first_rejection(tables.automaton if isinstance(tables, RegularIndex) else tables, prefix)
    position = (
        None if rejection is None else prefix_position_of(index.origin and index.origin.spec, prefix[: rejection.byte])
    )
    if as_json:
        failed = None if rejection is None else {**asdict(rejection), **position_as_data(position)}
        print_json({"after": as_text(prefix), "allowed": 0, "failed": failed})
        return REJECTED
    out = console()
    out.print(f"no token is allowed after {shown_bytes(prefix)}: no accepted text begins with it")
    if rejection is not None and not rejection.ends_early:
        print_place(prefix.decode(errors="surrogateescape"), rejection, position)
    return REJECTED


def _as_data(verdict: "Explanation") -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": verdict.token,
        "text": None if verdict.data is None else as_text(verdict.data),
        "allowed": verdict.allowed,
        "reason": verdict.reason,
        "expected": verdict.expected,
    }
    if verdict.lexeme_begin is not None:
        found |= {"terminals": list(verdict.terminals), "lexeme_begin": verdict.lexeme_begin}
    return found
