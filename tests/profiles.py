"""How many random examples a property test takes: by hypothesis profile.

``default`` takes at most 8, for a run of minutes; ``ci`` takes what each test says; ``deep`` takes ten times as many. Choose one
with ``pytest --hypothesis-profile=ci``. ``tests/conftest.py`` registers them.
"""

from hypothesis import settings

__all__ = ["examples"]

DEFAULT_EXAMPLES = 8
DEEP_FACTOR = 10


def examples(count: int, by_default: int = DEFAULT_EXAMPLES) -> int:
    """Return the number of examples for a test that takes ``count`` in continuous integration.

    ``by_default``: the most that it takes in a run of minutes; few for a test that has many parameters.

    Test modules call it while they are imported, when pytest has loaded the profile.
    """
    match settings.get_current_profile_name():
        case "ci":
            return count
        case "deep":
            return DEEP_FACTOR * count
        case _:
            return min(count, by_default)
