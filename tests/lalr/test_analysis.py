"""The analysis in less time is Lark's: the same includes, lookbacks and lookaheads, for arbitrary rules."""

from contextlib import suppress
from typing import Any

import lark
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lark.parsers.lalr_analysis import LALR_Analyzer, Reduce

from guided.automata.steps import Steps
from guided.errors import LimitError
from guided.lalr.analysis import Analysis, _propagate
from tests.profiles import examples

NAMES = ["start", "b", "c", "d"]


class Done(Exception):
    """What was wanted has been seen."""


def compared(grammar: str) -> list[dict[str, Any]]:
    """What Lark's analysis and ours find in a grammar; nothing where Lark reads none."""
    found: list[dict[str, Any]] = []

    class Parser:
        def __init__(self, parser_conf: Any, **_: bool) -> None:
            for analysis in (LALR_Analyzer(parser_conf), Analysis(Steps(10**9), parser_conf)):
                analysis.compute_lr0_states()
                analysis.compute_reads_relations()
                analysis.compute_includes_lookback()
                if isinstance(analysis, Analysis):
                    write_out(analysis)
                analysis.compute_lookaheads()
                try:
                    analysis.compute_lalr1_states()
                    found.append({**content(analysis), "actions": actions(analysis)})
                except lark.exceptions.GrammarError as error:
                    found.append({**content(analysis), "actions": sorted(str(error).splitlines())})
            raise Done

    with suppress(Done, lark.exceptions.LarkError):
        lark.Lark(grammar, parser="lalr", _plugins={"LALR_Parser": Parser})
    return found


def write_out(analysis: Analysis) -> None:
    """Store the relations in Lark's format: sets of transitions, by transition."""
    transitions = [
        (state, analysis._symbols[symbol]) for state, numbers in analysis._number.items() for symbol in numbers
    ]
    reductions = [(state, analysis._rules[rule]) for state, rule in analysis._reductions]

    def sets(numbers: dict[int, list[int]]) -> dict[Any, set[Any]]:
        return {one: {transitions[other] for other in numbers.get(i, ())} for i, one in enumerate(transitions)}

    analysis.reads, analysis.includes = sets(analysis._reads), sets(analysis._includes)
    analysis.lookback = {transition: set() for transition in transitions}
    for number, reduction in zip(analysis._lookback[::2], analysis._lookback[1::2], strict=True):
        analysis.lookback[transitions[number]].add(reductions[reduction])


def content(analysis: LALR_Analyzer) -> dict[str, Any]:
    """Without the identity of states; empty sets are what was only asked for."""
    items = {state: frozenset((item.rule, item.index) for item in state.closure) for state in analysis.lr0_itemsets}
    transitions = {
        name: {
            (items[state], symbol): {(items[after], second) for after, second in pairs}
            for (state, symbol), pairs in getattr(analysis, name).items()
            if pairs
        }
        for name in ("includes", "lookback", "reads")
    }
    lookaheads = {
        items[state]: {symbol: rules for symbol, rules in state.lookaheads.items() if rules}
        for state in analysis.lr0_itemsets
    }
    reads = list(analysis.reads)
    number = {transition: place for place, transition in enumerate(reads)}
    edges = [[number[other] for other in analysis.reads[transition]] for transition in reads]
    return {**transitions, "lookaheads": lookaheads, "is in circles": _has_circles(edges)}


def actions(analysis: LALR_Analyzer) -> dict[str, Any]:
    """The table, with items instead of numbers; states are numbered as they are listed."""
    items = [frozenset((item.rule, item.index) for item in state.closure) for state in analysis.lr0_itemsets]
    table = analysis.parse_table
    rows = {
        items[number]: {
            symbol: target if action is Reduce else items[target] for symbol, (action, target) in row.items()
        }
        for number, row in table.states.items()
    }
    places = {name: items[number] for name, number in table.start_states.items()}
    return {"rows": rows, "starts": places, "ends": {name: items[number] for name, number in table.end_states.items()}}


@st.composite
def rules(draw: st.DrawFn) -> str:
    """Four rules whose alternatives are short and may be empty: with circles of all kinds."""
    symbols = st.lists(st.sampled_from([*NAMES, '"x"', '"y"', '"z"']), max_size=3).map(" ".join)
    lines = [f"{name}: {' | '.join(draw(st.lists(symbols, min_size=1, max_size=3, unique=True)))}" for name in NAMES]
    return "\n".join(lines)


@settings(max_examples=examples(300), deadline=None)
@given(rules())
@example('start: b c d "x"\nb: c | "y"\nc: d |\nd: b | "z" |')
@example('start: b "x" | c "y"\nb: "z"\nc: "z"\nd: "x"')
def test_the_analysis_is_larks(grammar: str) -> None:
    for plain, ours in [tuple(both)] if (both := compared(grammar)) else []:
        if plain["is in circles"]:
            # Lark's lookaheads differ from run to run.
            for found in (plain, ours):
                del found["lookaheads"], found["actions"]
        assert plain == ours


def test_random_rules_are_read() -> None:
    """The comparison above compares something."""
    grammar = 'start: b c "x"\nb: "y" |\nc: start | "z"\nd: "x"'
    plain, ours = compared(grammar)
    assert plain == ours
    assert plain["lookaheads"]
    assert plain["includes"]


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(1, 8).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=4), min_size=n, max_size=n))
)
def test_sets_are_propagated(edges: list[list[int]]) -> None:
    """Beside reachability, node by node."""
    sets = [1 << node for node in range(len(edges))]
    _propagate(sets, dict(enumerate(edges)))
    for node in range(len(edges)):
        assert sets[node] == sum(1 << other for other in _reached(edges, node))


def _has_circles(edges: list[list[int]]) -> bool:
    return any(
        other != node and node in _reached(edges, other)
        for node in range(len(edges))
        for other in _reached(edges, node)
    )


def _reached(edges: list[list[int]], node: int) -> set[int]:
    reached, work = {node}, [node]
    while work:
        for other in edges[work.pop()]:
            if other not in reached:
                reached.add(other)
                work.append(other)
    return reached


def test_a_long_chain_needs_no_recursion() -> None:
    count = 50_000
    sets = [0] * (count - 1) + [1]
    _propagate(sets, {node: [node + 1] for node in range(count - 1)})
    assert set(sets) == {1}


def test_items_are_counted() -> None:
    conf = []

    class Parser:
        def __init__(self, parser_conf: Any, **_: bool) -> None:
            conf.append(parser_conf)
            raise Done

    with pytest.raises(Done):
        lark.Lark('start: "a" start |', parser="lalr", _plugins={"LALR_Parser": Parser})
    with pytest.raises(LimitError):
        Analysis(Steps(1_000), conf[0]).compute_lalr()
