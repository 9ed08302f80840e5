"""Systems of distinct representatives against all ways to choose."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from guided.schema.cardinality.matching import Group, critical_values
from tests.profiles import examples

groups = st.lists(
    st.builds(
        Group, st.integers(0, 3), st.lists(st.integers(0, 5), unique=True, max_size=5).map(lambda found: tuple(found))
    ),
    max_size=3,
)


def slowly(groups: list[Group], without: int | None = None) -> bool:
    sets = [set(group.values) - {without} for group in groups for _ in range(group.times)]
    return any(
        all(value in members for value, members in zip(chosen, sets, strict=True))
        for chosen in permutations(range(6), len(sets))
    )


@settings(max_examples=examples(150))
@given(groups.filter(lambda found: sum(group.times for group in found) <= 6))
def test_values_are_critical_where_no_choice_does_without_them(groups: list[Group]) -> None:
    found = critical_values(groups, lambda steps: None)
    if not slowly(groups):
        assert found is None
    else:
        assert found == {value for value in range(6) if not slowly(groups, value)}
