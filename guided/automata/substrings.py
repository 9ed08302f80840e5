"""Runs of consecutive units of a text, such as the words of a quotation, as the paths of a graph.

The graph is the suffix automaton of the sequence of units (Blumer et al., 1985): at most 2n states and 3n edges for n units, built in O(n).
"""

from collections.abc import Collection, Sequence

from guided.patterns.tree import Graph, Literal, Node

__all__ = ["runs"]

_START, _END = 0, 1


def runs(units: Sequence[str], between: Collection[str] = ()) -> Node:
    """Return the texts of one or more consecutive units.

    Parameters
    ----------
    units : sequence of str
        Not empty texts.
    between : collection of str
        Units with which no run begins or ends, such as blanks between words.
    """
    edges: list[dict[str, int]] = [{}]
    # For each state: the state of its longest suffix in another class, and the length of its longest run.
    suffix, longest = [-1], [0]
    last = 0
    for unit in units:
        new = len(edges)
        edges.append({})
        suffix.append(0)
        longest.append(longest[last] + 1)
        state = last
        while state >= 0 and unit not in edges[state]:
            edges[state][unit] = new
            state = suffix[state]
        if state >= 0:
            after = edges[state][unit]
            if longest[after] != longest[state] + 1:
                copy = len(edges)
                edges.append(dict(edges[after]))
                suffix.append(suffix[after])
                longest.append(longest[state] + 1)
                suffix[after] = copy
                while state >= 0 and edges[state].get(unit) == after:
                    edges[state][unit] = copy
                    state = suffix[state]
                after = copy
            suffix[new] = after
        last = new
    texts = {unit: Literal(unit) for unit in units}
    # State 0 is the start, and point 1 the end: the other states move up by one.
    found: list[tuple[int, Node, int]] = []
    ends: set[int] = set()
    for state, ways in enumerate(edges):
        for unit, after in ways.items():
            if state == 0 and unit in between:
                continue
            found.append((state + (state > 0), texts[unit], after + 1))
            if unit not in between:
                ends.add(after + 1)
    found += [(state, Literal(""), _END) for state in sorted(ends)]
    return Graph(tuple(found), len(edges) + 1)
