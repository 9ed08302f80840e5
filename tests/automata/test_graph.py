"""Graphs of automata: they spell what the automaton accepts, and are drawn whole."""

import re
from ast import literal_eval
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from guided.automata.automaton import Automaton
from guided.automata.drawing import _GAP, _apart, to_svg
from guided.automata.graph import Graph, byte_set, graph_of, least_nodes, to_dot
from guided.engine.specs import Choice, Regex
from guided.limits import Limits

PATTERNS = [
    "",
    "a",
    "(ab|cd)*",
    r'"([^"\\\n]|\\["\\n])*"',
    r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?",
    "yes|no|maybe",
    r"\w{1,3}",
]


def graph(pattern: str) -> Graph:
    return graph_of(Regex(pattern).lower(Limits()))


def texts(found: Graph) -> set[bytes]:
    """All texts that a graph without cycles spells; its labels hold letters in quotes, and sets of letters."""
    onward: dict[int, list[tuple[list[bytes], int]]] = {}
    for edge in found.edges:
        onward.setdefault(edge.source, []).append((spelled(edge.label), edge.target))
    whole, stack = set(), [(b"", 0)]
    while stack:
        text, node = stack.pop()
        if node in found.ends:
            whole.add(text)
        stack += [(text + piece, target) for pieces, target in onward.get(node, []) for piece in pieces]
    return whole


def spelled(label: str) -> list[bytes]:
    pieces = []
    for piece in label.split(", "):
        if piece.startswith("'"):
            pieces.append(literal_eval(piece).encode())
            continue
        for part in piece.split(" "):
            first, _, last = part.partition("-")
            pieces += [bytes([value]) for value in range(ord(first), ord(last or first) + 1)]
    return pieces


@given(st.sets(st.text(alphabet="abcd", max_size=6), min_size=1, max_size=5))
def test_spells_the_texts_that_the_automaton_accepts(options: set[str]) -> None:
    found = graph_of(Choice(sorted(options)).lower(Limits()))
    assert texts(found) == {option.encode() for option in options}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_nodes_are_states_that_do_not_only_pass_on(pattern: str) -> None:
    automaton = Regex(pattern).lower(Limits())
    found = graph_of(automaton)
    assert found.nodes[0] == 0
    assert found.ends == {state for state in range(automaton.n_states) if automaton.accepting[state]}
    assert len({(edge.source, edge.target) for edge in found.edges}) == len(found.edges)
    assert {node for edge in found.edges for node in (edge.source, edge.target)} <= set(found.nodes)


@pytest.mark.parametrize("pattern", [*PATTERNS, "hello|world[0-9]x", "(ab)+"])
def test_a_bound_of_the_number_of_nodes(pattern: str) -> None:
    automaton = Regex(pattern).lower(Limits())
    assert 0 < least_nodes(automaton) <= len(graph_of(automaton).nodes)
    assert least_nodes(Regex("a{300}[bc]{200}").lower(Limits())) == 201


def test_runs_of_single_bytes_are_one_edge() -> None:
    found = graph("hello[0-9]world")
    assert [edge.label for edge in found.edges] == ["'hello'", "0-9", "'world'"]
    assert len(found.nodes) == 4
    assert [edge.label for edge in graph("(ab)+").edges] == ["a", "b", "a"], "two ways lead to the state in between"


def test_long_labels_are_cut() -> None:
    words = [letter * 3 for letter in "abcdefghijk"]
    assert graph_of(Choice(words).lower(Limits())).edges[0].label == "'aaa', 'bbb', 'ccc', 'ddd', 'eee', 'fff', 5 more"


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (range(256), "any byte"),
        (range(128), "ASCII"),
        ([*range(10), *range(11, 128)], r"ASCII except '\n'"),
        ([*range(34), *range(35, 256)], "any byte except '\"'"),
        (b"0123456789abcdef", "0-9 a-f"),
        (b"ab", "a b"),
        (b"+-", "'+' '-'"),
        (range(0x80, 0xC0), "x80-xBF"),
        (b"\t\n\r ", r"'\t' '\n' '\r' ' '"),
        (b"acegikmo", "a c e g i k 2 more"),
    ],
)
def test_sets_of_bytes(values: range | bytes | list[int], label: str) -> None:
    assert byte_set(list(values)) == label


def test_dot() -> None:
    assert to_dot(graph('(ab|"\\\\)[0-9]*')) == (
        "digraph index {\n"
        "  rankdir=LR;\n"
        '  node [shape=circle, fontname="monospace"];\n'
        '  edge [fontname="monospace"];\n'
        "  start [shape=point];\n"
        "  start -> 0;\n"
        "  3 [shape=doublecircle];\n"
        "  0 -> 3 [label=\"'\\\"\\\\\\\\', 'ab'\"];\n"
        '  3 -> 3 [label="0-9"];\n'
        "}\n"
    )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_drawing_shows_everything_inside_its_frame(pattern: str) -> None:
    found = graph(pattern)
    root = ElementTree.fromstring(to_svg(found))
    shapes = list(root.iter())
    circles = [shape for shape in shapes if shape.tag.endswith("circle")]
    assert len(circles) == len(found.nodes) + len(found.ends)
    written = [shape.text for shape in shapes if shape.tag.endswith("text")]
    assert sorted(written) == sorted([*(edge.label for edge in found.edges), *map(str, found.nodes)])
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    paths = [shape.attrib["d"] for shape in root if shape.tag.endswith("path")]
    assert len(paths) == len(found.edges) + 1
    for path in paths:
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
        for x, y in [numbers[:2], numbers[-2:]]:
            assert left <= x <= left + width
            assert top <= y <= top + height
    for circle in circles:
        assert left < float(circle.attrib["cx"]) < left + width
        assert top < float(circle.attrib["cy"]) < top + height


@pytest.mark.parametrize("pattern", PATTERNS)
def test_no_two_nodes_are_drawn_on_each_other(pattern: str) -> None:
    root = ElementTree.fromstring(to_svg(graph(pattern)))
    places = {
        (float(shape.attrib["cx"]), float(shape.attrib["cy"])) for shape in root.iter() if shape.tag.endswith("circle")
    }
    assert len(places) == len(graph(pattern).nodes)
    assert all(
        abs(x - other_x) > 32 or abs(y - other_y) > 32
        for x, y in places
        for other_x, other_y in places
        if (x, y) != (other_x, other_y)
    )


def test_the_same_graph_gives_the_same_drawing() -> None:
    assert to_svg(graph(PATTERNS[3])) == to_svg(graph(PATTERNS[3]))


def test_labels_are_text_not_markup() -> None:
    root = ElementTree.fromstring(to_svg(graph("<b>&\x1b|x")))
    assert any(shape.text == "x, '<b>&\\x1b'" for shape in root.iter())


def test_a_long_chain_is_drawn_without_recursion() -> None:
    automaton = Regex("[ab]{3000}").lower(Limits())
    assert isinstance(automaton, Automaton)
    assert to_svg(graph_of(automaton)).count("<circle") == 3002


@given(st.lists(st.floats(-500, 500), min_size=1, max_size=20))
def test_heights_keep_distance_and_are_near_the_wanted_ones(wanted: list[float]) -> None:
    found = _apart(wanted)
    assert all(after - before >= _GAP - 1e-6 for before, after in pairwise(found))
    assert sum(found) == pytest.approx(sum(wanted), abs=1e-6)
    assert _apart(found) == pytest.approx(found, abs=1e-6)
