"""The worklist beside chaotic iteration: random monotone systems over sets and over costs, known at once or met on the way."""

from hypothesis import given
from hypothesis import strategies as st

from guided.fixpoint.worklist import post_order, solve

COUNT = 7
# An equation is a union of terms: (constant, variables that must not be empty, variables whose union is taken, mask of what passes).
variables = st.lists(st.integers(0, COUNT - 1), max_size=3)
sets = st.integers(0, 15)
terms = st.tuples(sets, variables, variables, sets)
systems = st.lists(st.lists(terms, max_size=3), min_size=COUNT, max_size=COUNT)
# Of each variable, alternatives of a cost and variables whose costs are added.
sums = st.lists(st.lists(st.tuples(st.integers(1, 9), variables), max_size=3), min_size=COUNT, max_size=COUNT)
INFINITE = 1 << 40


def union(system: list[list[tuple[int, list[int], list[int], int]]], values: list[int], variable: int) -> int:
    found = values[variable]
    for constant, needed, joined, mask in system[variable]:
        if all(values[one] for one in needed):
            found |= constant
            for one in joined:
                found |= values[one] & mask
    return found


def chaotic(values: list[int], equation: object) -> list[int]:
    """Rounds over all variables, until nothing changes."""
    while True:
        after = [equation(values, variable) for variable in range(len(values))]
        if after == values:
            return values
        values = after


def readers_of(reads: list[set[int]]) -> list[list[int]]:
    readers: list[list[int]] = [[] for _ in reads]
    for reader, read in enumerate(reads):
        for one in read:
            readers[one].append(reader)
    return readers


@given(systems, st.permutations(range(COUNT)))
def test_sets_are_the_least_solution(
    system: list[list[tuple[int, list[int], list[int], int]]], order: list[int]
) -> None:
    """Whatever the order of the variables."""
    place = {variable: number for number, variable in enumerate(order)}

    def placed(some: list[int]) -> list[int]:
        return [place[one] for one in some]

    moved = [
        [(constant, placed(needed), placed(joined), mask) for constant, needed, joined, mask in system[variable]]
        for variable in order
    ]
    expected = chaotic([0] * COUNT, lambda values, variable: union(system, values, variable))
    values = [0] * COUNT
    reads = [{one for _, needed, joined, _ in equation for one in (*needed, *joined)} for equation in moved]
    solve(values, lambda number: union(moved, values, number), readers_of(reads))
    assert [values[place[variable]] for variable in range(COUNT)] == expected


@given(sums)
def test_costs_are_the_least_solution(system: list[list[tuple[int, list[int]]]]) -> None:
    """Costs fall: the lattice is upside down."""

    def cost(values: list[int], variable: int) -> int:
        ways = (own + sum(values[one] for one in needed) for own, needed in system[variable])
        return min(INFINITE, values[variable], *ways) if system[variable] else values[variable]

    values = [INFINITE] * COUNT
    reads = [{one for _, needed in ways for one in needed} for ways in system]
    solve(values, lambda number: cost(values, number), readers_of(reads))
    assert values == chaotic([INFINITE] * COUNT, cost)


@given(systems, st.integers(0, COUNT - 1))
def test_variables_are_collected_on_the_path(
    system: list[list[tuple[int, list[int], list[int], int]]], root: int
) -> None:
    """An equation numbers what it reads, and says that it reads it."""
    numbers, met, values, readers = {root: 0}, [root], [0], [set[int]()]

    def value(variable: int, reader: int) -> int:
        number = numbers.setdefault(variable, len(met))
        if number == len(met):
            met.append(variable)
            values.append(0)
            readers.append(set())
        readers[number].add(reader)
        return values[number]

    def equation(number: int) -> int:
        found = values[number]
        for constant, needed, joined, mask in system[met[number]]:
            if all(value(one, number) for one in needed):
                found |= constant
                for one in joined:
                    found |= value(one, number) & mask
        return found

    solve(values, equation, readers)
    expected = chaotic([0] * COUNT, lambda all_values, variable: union(system, all_values, variable))
    assert [expected[variable] for variable in met] == values


@given(
    st.lists(st.lists(st.integers(0, COUNT - 1), max_size=3), min_size=COUNT, max_size=COUNT),
    st.lists(st.integers(0, COUNT - 1)),
)
def test_post_order(edges: list[list[int]], roots: list[int]) -> None:
    reached = [set(one) for one in edges]
    for _ in range(COUNT):
        reached = [one.union(*(reached[other] for other in one)) for one in reached]
    order = post_order(roots, edges.__getitem__)
    assert sorted(order) == sorted(set(roots).union(*(reached[root] for root in roots)))
    place = {variable: number for number, variable in enumerate(order)}
    for variable in order:
        for other in edges[variable]:
            assert place[other] < place[variable] or variable in reached[other]


def test_without_cycles_each_equation_is_evaluated_once() -> None:
    """And a long chain takes no stack."""
    count = 20_000
    order = post_order([0], lambda one: [one + 1] if one + 1 < count else [])
    assert order == [*range(count - 1, -1, -1)]
    values, evaluated = [0] * count, [0] * count

    def equation(number: int) -> int:
        evaluated[number] += 1
        return 1 if number == 0 else values[number - 1]

    solve(values, equation, [[number + 1] if number + 1 < count else [] for number in range(count)])
    assert values == evaluated == [1] * count
