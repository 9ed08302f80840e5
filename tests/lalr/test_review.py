"""What `Grammar.review` finds, and that its examples are met: the text before a conflict is read so, and both ways go on behind it."""

from itertools import islice, product

import lark
import pytest

import guided
from guided.errors import GrammarError, LimitError
from guided.lalr.review import Finding
from tests.lalr.random_grammars import Sample, sample
from tests.lalr.test_prefix import parsed
from tests.profiles import examples

DANGLING = 'start: "if" NAME "then" start ("else" start)? | NAME\nNAME: /[a-z]+/\n%ignore " "'
OVERLAP = 'start: A B | C "z" | x\nx: "x" x\nA: "a"\nB: "b"\nC: "ab"'
AHEAD = 'start: L "q" | L "b"\nL: /l(?=b)/'


def found(text: str) -> list[tuple[str, str, tuple[str, ...] | None, str | None]]:
    return [
        (one.kind, one.note, one.example and one.example.terminals, one.example and one.example.text)
        for one in guided.Grammar(text).review()
    ]


def test_conflicts_have_texts() -> None:
    note = "conflict on ELSE: start: IF NAME THEN start is not reduced where ELSE can be shifted"
    terminals = ("IF", "NAME", "THEN", "IF", "NAME", "THEN", "NAME")
    assert found(DANGLING) == [("conflict", note, terminals, "if a then if a then a")]


def test_unread_parts_and_states_without_continuation() -> None:
    assert found(OVERLAP) == [
        ("unproductive", "x occurs in no accepted text", (), ""),
        ("dead end", "Lark reads A, but no text completes it", ("A",), "a"),
    ]


def test_lookaheads_that_are_broken() -> None:
    assert [one[:2] for one in found(AHEAD)] == [("lookahead", "Q can never follow L, which has a lookahead")]
    assert found('start: L "b"\nL: /l(?=b)/') == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["json", "arithmetic", "sql", "graphql"])
def test_grammars_of_the_package_have_no_dead_ends(name: str) -> None:
    assert {one.kind for one in guided.Grammar(name).review()} <= {"conflict"}


@pytest.mark.slow
def test_every_conflict_of_python_has_an_example() -> None:
    spec = guided.Grammar("python", start="file_input")
    told = spec.review()
    assert [one.note for one in told] == list(spec.tables.notes)
    assert all(one.example is not None for one in told)


def test_examples_are_read_as_they_say() -> None:
    spec = guided.Grammar(DANGLING)
    (conflict,) = spec.review()
    assert isinstance(conflict, Finding)
    assert conflict.example is not None
    assert conflict.example.text is not None
    position = spec.prefix_position(f"{conflict.example.text} ".encode())
    assert position is not None
    assert '"else"' in position.terminals


def reviewed(made: Sample) -> tuple[lark.Lark, list[Finding]]:
    try:
        parser = made.parser()
        return parser, [] if made.is_indented else guided.Grammar(parser).review()
    except (lark.exceptions.LarkError, AttributeError, GrammarError, LimitError):
        return lark.Lark("start:", parser="lalr"), []


@pytest.mark.parametrize("part", range(4))
def test_lark_reads_the_examples_of_random_grammars_so(part: int) -> None:
    n_read = 0
    for number in range(part, examples(240, by_default=120), 4):
        made = sample(number)
        parser, findings = reviewed(made)
        for one in findings:
            if one.example is None or one.example.text is None or one.kind == "lookahead":
                continue
            state = parser.parse_interactive(one.example.text)
            assert tuple(token.type for token in state.exhaust_lexer()) == one.example.terminals, (number, one)
            if one.kind == "conflict":
                assert one.note.split()[2].rstrip(":") in state.accepts(), (number, one)
            if one.kind == "dead end":
                # Longer texts may be read otherwise.
                longer = (
                    one.example.text + "".join(more) for n in range(4) for more in product(made.letters, repeat=n)
                )
                for text in longer:
                    begun = (
                        tuple(
                            islice(
                                (token.type for token in parser.parse_interactive(text).iter_parse()),
                                len(one.example.terminals),
                            )
                        )
                        if parsed(parser, text)
                        else ()
                    )
                    assert begun != one.example.terminals, (number, one, text)
            n_read += 1
    assert n_read > 5
