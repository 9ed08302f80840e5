"""Draws a graph as SVG, in layers from left to right (Sugiyama, Tagawa and Toda 1981).

1. Remove edges that close a cycle; a node's layer is the length of the longest path to it over the others.
2. Give an edge across several layers a waypoint in each layer between.
3. Order each layer by the mean position of its neighbors, with several sweeps from left to right and back.
4. Move heights towards the mean height of the neighbors, keeping order and minimum distance.

Invariant: the same graph gives the same bytes. O(sweeps x (nodes + waypoints) log). Graphviz draws better from
`guided.automata.graph.to_dot`.
"""

from collections import Counter
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from guided.automata.graph import Graph
from guided.encoding import width

__all__ = ["to_svg"]

_RADIUS, _GAP, _LETTER, _LINE, _MARGIN, _SWEEPS = 16.0, 62.0, 7.3, 12.0, 24.0, 12

Point = tuple[float, float]
# A node, or a waypoint: the number of its edge and its layer.
Vertex = int | tuple[int, int]


@dataclass(slots=True)
class _Layout:
    """Positions of nodes and waypoints.

    Attributes
    ----------
    layers : list of list
        Nodes and waypoints of each layer, from top to bottom.
    before, after : dict
        Neighbors in the layers to the left and to the right.
    paths : dict
        Nodes and waypoints on each forward edge, by its number.
    x : list of float
        Horizontal position of each layer.
    y : dict
        Height of each node and waypoint.
    """

    layers: list[list[Vertex]]
    before: dict[Vertex, list[Vertex]] = field(default_factory=dict)
    after: dict[Vertex, list[Vertex]] = field(default_factory=dict)
    paths: dict[int, list[Vertex]] = field(default_factory=dict)
    x: list[float] = field(default_factory=list)
    y: dict[Vertex, float] = field(default_factory=dict)


def to_svg(graph: Graph) -> str:
    """Return the graph as a complete SVG document."""
    backward = _closing(graph)
    layer = _layers(graph, backward)
    layout = _layout(graph, backward, layer)
    at = {node: (layout.x[layer[node]], layout.y[node]) for node in graph.nodes}
    leaving = Counter(edge.source for edge in graph.edges)
    entering = Counter(edge.target for edge in graph.edges)
    shapes, highest = [], min(layout.y.values()) - 2 * _RADIUS
    sides = _sides(graph, layout)
    labels: dict[int, list[tuple[Point, float]]] = {}
    x, y = at[0]
    leftmost = x - 2.2 * _RADIUS
    shapes += _edge(f"M{leftmost:.1f} {y:.1f}L{x - _RADIUS:.1f} {y:.1f}", at[0], "")
    for number, edge in enumerate(graph.edges):
        if number in layout.paths:
            points = [(layout.x[_layer_of(vertex, layer)], layout.y[vertex]) for vertex in layout.paths[number]]
            # Why: labels are placed where their edges are apart.
            along = 0.6 if leaving[edge.source] > entering[edge.target] else 0.35
            beside = labels.setdefault(layer[edge.source], [])
            shapes += _forward(points, edge.label, along, sides[number], beside)
        elif edge.source == edge.target:
            shapes += _loop(at[edge.source], edge.label)
            highest = min(highest, at[edge.source][1] - 60)
            leftmost = min(leftmost, at[edge.source][0] - _LETTER * width(edge.label) / 2)
        else:
            between = range(layer[edge.target] + 1, layer[edge.source])
            over = [at[node][1] - 26 for node in graph.nodes if layer[node] in between]
            peak = min([at[node][1] - 58 - 7 * len(between) for node in (edge.source, edge.target)] + over)
            shapes += _backward(at[edge.source], at[edge.target], peak, edge.label)
            highest = min(highest, peak - 18)
    shapes += [shape for node in graph.nodes for shape in _node(node, at[node], is_end=node in graph.ends)]
    # Why last: labels must be drawn above nodes.
    shapes.sort(key=lambda shape: shape.startswith('<text class="label"'))
    right, lowest = layout.x[-1] + _RADIUS + 40, max(layout.y.values()) + _RADIUS
    box = (leftmost - _MARGIN, highest - _MARGIN, right - leftmost + 2 * _MARGIN, lowest - highest + 2 * _MARGIN)
    return _document(box, shapes)


def _closing(graph: Graph) -> set[int]:
    """Numbers of the edges that lead back to a node on the current path of a depth-first search from the start."""
    onward: dict[int, list[int]] = {node: [] for node in graph.nodes}
    for number, edge in enumerate(graph.edges):
        onward[edge.source].append(number)
    found, on_the_way, seen = set(), {0}, {0}
    stack = [(0, iter(onward[0]))]
    while stack:
        node, rest = stack[-1]
        for number in rest:
            target = graph.edges[number].target
            if target in on_the_way:
                found.add(number)
            elif target not in seen:
                seen.add(target)
                on_the_way.add(target)
                stack.append((target, iter(onward[target])))
                break
        else:
            on_the_way.discard(node)
            stack.pop()
    return found


def _layers(graph: Graph, backward: set[int]) -> dict[int, int]:
    """The length of the longest path from the start to each node, without closing edges."""
    onward: dict[int, list[int]] = {node: [] for node in graph.nodes}
    waits = dict.fromkeys(graph.nodes, 0)
    for number, edge in enumerate(graph.edges):
        if number not in backward:
            onward[edge.source].append(edge.target)
            waits[edge.target] += 1
    layer, ready = dict.fromkeys(graph.nodes, 0), [node for node in graph.nodes if not waits[node]]
    while ready:
        node = ready.pop()
        for target in onward[node]:
            layer[target] = max(layer[target], layer[node] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    return layer


def _layer_of(vertex: Vertex, layer: dict[int, int]) -> int:
    return vertex[1] if isinstance(vertex, tuple) else layer[vertex]


def _layout(graph: Graph, backward: set[int], layer: dict[int, int]) -> _Layout:
    count = max(layer.values()) + 1
    layout = _Layout([[node for node in graph.nodes if layer[node] == number] for number in range(count)])
    room = [0.0] * count
    for number, edge in enumerate(graph.edges):
        if edge.source == edge.target:
            # A loop's label is centered above its node.
            for side in {layer[edge.source], max(layer[edge.source] - 1, 0)}:
                room[side] = max(room[side], _LETTER * width(edge.label) / 2)
        if number in backward:
            continue
        ways: list[Vertex] = [(number, between) for between in range(layer[edge.source] + 1, layer[edge.target])]
        layout.paths[number] = [edge.source, *ways, edge.target]
        for way in ways:
            layout.layers[_layer_of(way, layer)].append(way)
        for left, right in pairwise(layout.paths[number]):
            layout.after.setdefault(left, []).append(right)
            layout.before.setdefault(right, []).append(left)
        room[layer[edge.source]] = max(room[layer[edge.source]], _LETTER * width(edge.label))
    layout.x = [0.0]
    for number in range(count - 1):
        layout.x.append(layout.x[-1] + 2 * _RADIUS + 34 + room[number])
    _order(layout)
    _settle(layout)
    return layout


def _order(layout: _Layout) -> None:
    """Sort each layer by the mean position of the neighbors to the left and to the right, in turn."""
    for vertices in layout.layers:
        layout.y.update({vertex: float(number) for number, vertex in enumerate(vertices)})
    for sweep in range(_SWEEPS):
        sides = layout.after if sweep % 2 else layout.before
        for vertices in reversed(layout.layers) if sweep % 2 else layout.layers:
            wanted = {vertex: _wanted(vertex, sides, layout.y) for vertex in vertices}
            vertices.sort(key=wanted.__getitem__)
            layout.y.update({vertex: number - (len(vertices) - 1) / 2 for number, vertex in enumerate(vertices)})


def _settle(layout: _Layout) -> None:
    """Move all heights towards those of their neighbors; keep the order and the gaps."""
    layout.y = {vertex: _GAP * height for vertex, height in layout.y.items()}
    for sweep in range(_SWEEPS):
        sides = layout.after if sweep % 2 else layout.before
        for vertices in reversed(layout.layers) if sweep % 2 else layout.layers:
            wanted = [_wanted(vertex, sides, layout.y) for vertex in vertices]
            layout.y.update(zip(vertices, _apart(wanted), strict=True))


def _wanted(vertex: Vertex, sides: dict[Vertex, list[Vertex]], y: dict[Vertex, float]) -> float:
    others = [y[other] for other in sides.get(vertex, [])]
    return sum(others) / len(others) if others else y[vertex]


def _apart(wanted: list[float]) -> list[float]:
    """The ascending heights with minimum gaps that are nearest to `wanted` (least squares); pool adjacent violators."""
    pools: list[tuple[float, int]] = []
    for number, height in enumerate(wanted):
        mean, count = height - number * _GAP, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    level = [mean for mean, count in pools for _ in range(count)]
    return [mean + number * _GAP for number, mean in enumerate(level)]


def _sides(graph: Graph, layout: _Layout) -> dict[int, int]:
    """The side of each forward edge for its label, by the edge's number.

    It is -1, above, for the highest of the edges that leave a node, 1, below, for the lowest, and 0, on the edge, for those between. A
    single edge is compared with those that enter its target.
    """
    leaving: dict[int, list[int]] = {}
    entering: dict[int, list[int]] = {}
    for number in layout.paths:
        leaving.setdefault(graph.edges[number].source, []).append(number)
        entering.setdefault(graph.edges[number].target, []).append(number)
    found = dict.fromkeys(layout.paths, 0)
    groups = [(numbers, 1) for numbers in leaving.values() if len(numbers) > 1]
    groups += [(numbers, -2) for numbers in entering.values()]
    for numbers, place in reversed(groups):
        ordered = [
            number for _, number in sorted((layout.y[layout.paths[number][place]], number) for number in numbers)
        ]
        found.update(dict.fromkeys(ordered, 0))
        found[ordered[-1]] = 1
        found[ordered[0]] = -1
    return found


def _forward(points: list[Point], label: str, along: float, side: int, labels: list[tuple[Point, float]]) -> list[str]:
    """An edge to the right, through its waypoints; `along` is the position of the label on its first segment, as a fraction.

    The label is on a `side` of the edge. Where it would cover one of `labels`, places and half widths of earlier ones, it is on the edge.
    """
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x, y), (to_x, to_y) in pairwise(points):
        end = to_x - _RADIUS if (to_x, to_y) == points[-1] else to_x
        middle = (x + end) / 2
        path += f"C{middle:.1f} {y:.1f} {middle:.1f} {to_y:.1f} {end:.1f} {to_y:.1f}"
    center, middle = _on_curve(points[0], points[1], along)
    half = _LETTER * width(label) / 2
    curve = [_on_curve(points[0], points[1], number / 40) for number in range(41)]
    beside = [height for across, height in curve if abs(across - center) <= half + 4]
    heights = {-1: max(min(beside), middle - _RADIUS) - 5, 0: middle - 5, 1: min(max(beside), middle + _RADIUS) + 14}
    if any(abs(center - x) <= half + other and abs(heights[side] - y) <= _LINE for (x, y), other in labels):
        side = 0
    place = center, heights[side]
    labels.append((place, half))
    return _edge(path, place, label)


def _on_curve(start: Point, end: Point, along: float) -> Point:
    """The point at a fraction of a curve whose control points are halfway, at the heights of its ends."""
    (x, y), (to_x, to_y), rest = start, end, 1 - along
    across = rest**3 * x + 1.5 * (rest * along) * (x + to_x) + along**3 * to_x
    return across, rest**2 * (rest + 3 * along) * y + along**2 * (along + 3 * rest) * to_y


def _loop(place: Point, label: str) -> list[str]:
    """An edge from a node to itself."""
    x, y = place
    path = f"M{x - 8:.1f} {y - 14:.1f}C{x - 26:.1f} {y - 50:.1f} {x + 26:.1f} {y - 50:.1f} {x + 8:.1f} {y - 14:.1f}"
    return _edge(path, (x, y - 46), label)


def _backward(place: Point, target: Point, peak: float, label: str) -> list[str]:
    """An edge to the left, above everything between, up to the height `peak`."""
    (x, y), (to_x, to_y) = place, target
    # The midpoint of a cubic curve whose control points have this height is at the peak.
    height = (peak - (y + to_y) / 8) / 0.75
    path = f"M{x:.1f} {y - _RADIUS:.1f}C{x:.1f} {height:.1f} {to_x:.1f} {height:.1f} {to_x:.1f} {to_y - _RADIUS:.1f}"
    return _edge(path, ((x + to_x) / 2, peak - 6), label)


def _edge(path: str, place: Point, label: str) -> list[str]:
    shapes = [f'<path d="{path}" marker-end="url(#head)"/>']
    if label:
        shapes.append(f'<text class="label" x="{place[0]:.1f}" y="{place[1]:.1f}">{escape(label, quote=False)}</text>')
    return shapes


def _node(node: int, place: Point, *, is_end: bool) -> list[str]:
    x, y = place
    circle = '<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}"{}/>'
    shapes = [circle.format(x, y, _RADIUS, f' data-state="{node}"')]
    shapes += [circle.format(x, y, _RADIUS - 3.5, "")] if is_end else []
    return [*shapes, f'<text x="{x:.1f}" y="{y + 4:.1f}">{node}</text>']


def _document(box: tuple[float, float, float, float], shapes: list[str]) -> str:
    x, y, wide, high = box
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{x:.0f} {y:.0f} {wide:.0f} {high:.0f}" '
        f'width="{wide:.0f}" height="{high:.0f}" font-family="monospace" font-size="12" text-anchor="middle">'
    )
    style = (
        "<style>svg{--ink:#1c1e21;--line:#666;--ground:#fff}"
        "@media (prefers-color-scheme:dark){svg{--ink:#e6e8eb;--line:#9aa0a8;--ground:#1d2026}}"
        "text{fill:var(--ink)}path{fill:none;stroke:var(--line)}circle{fill:var(--ground);stroke:var(--ink)}"
        "#head path{fill:var(--line)}.ground{fill:var(--ground)}"
        ".label{stroke:var(--ground);stroke-width:4px;paint-order:stroke}</style>"
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
        '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    )
    ground = f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{high:.0f}" class="ground"/>'
    return "\n".join([head, style, marker, ground, *shapes, "</svg>"]) + "\n"
