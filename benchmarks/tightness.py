"""How often `remaining` is the least number of tokens: ``python -m benchmarks.tightness [--count N] [--seed S] [--folder DIR]``.

Random schemas (`tests.schema.strategies`) are compiled over a vocabulary of all bytes and common pieces of JSON. From the start, and from a
few random places, the least number of tokens to an end is searched breadth first, over all states of fewer tokens than `remaining` says. A
search that meets more than ``--states`` states decides nothing and is counted as such.

With ``--folder``, MaskBench's schemas instead, from the start only, over single bytes: how far does a search get that knows no costs?
"""

import argparse
import json
import random
import time
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import guided
from guided.errors import LimitError, SchemaError
from guided.vocabulary.vocabulary import Vocabulary
from tests.masks import bits
from tests.schema.strategies import schemas

__all__ = ["least", "main"]

PIECES = [
    b'{"', b'":', b'":"', b'","', b'"}', b'":{', b'":[', b"[]", b"{}", b'""', b"},", b"],", b"}]", b"]}", b"[[", b"[{", b"]]",
    b"}}", b"true", b"false", b"null", b"ab", b'"a', b'a"', b"10", b", ", b": ", b'["', b'"]', b",1", b"0,", b'"a"', b'"b"',
    b'"a":', b'"b":', b"1]", b"1}",
]  # fmt: skip
WORDS = Vocabulary([*(bytes([value]) for value in range(256)), *PIECES, None], eos=[256 + len(PIECES)])
BYTES = Vocabulary([*(bytes([value]) for value in range(256)), None], eos=[256])
# A search asks for states that were found long before.
LIMITS = guided.Limits(growth_bytes=1 << 32)
KINDS = st.one_of(
    schemas(8),
    schemas(4, about="object", references=False),
    schemas(4, about="array", references=False),
    schemas(4, about="array", references=False, unique=True),
    schemas(4, about="string", references=False),
    schemas(4, about="number", references=False),
)


def least(index: guided.Index, state: int, below: int, most: int) -> int | None:
    """The least number of tokens from a state to an end, or ``below`` if it is not smaller; None where there are too many states."""
    front, seen = [state], {state}
    for count in range(below):
        onward: list[int] = []
        for here in front:
            if index.is_accepting(here):
                return count
            if count == below - 1:
                continue
            for token in bits(index.mask(here)):
                after = index.next(here, token)
                if after not in seen:
                    seen.add(after)
                    onward.append(after)
            if len(seen) > most:
                return None
        front = onward
    return below


def search_files(folder: Path, count: int, states: int, chance: random.Random) -> None:
    """Print how many texts of real schemas a search completes, and what it and `remaining` take."""
    found, times = Counter[str](), Counter[str]()
    files = sorted(folder.glob("*.json"))
    for path in chance.sample(files, min(count, len(files))):
        schema = json.loads(path.read_bytes())["schema"]
        try:
            index = guided.compile(guided.JsonSchema(schema, whitespace="compact"), BYTES, limits=LIMITS)
        except (SchemaError, LimitError):
            continue
        begun = time.process_time()
        said = index.remaining(index.initial)
        middle = time.process_time()
        exact = least(index, index.initial, said + 1, states)
        found["undecided" if exact is None else "exact" if exact == said else "above"] += 1
        times["remaining"] += middle - begun  # type: ignore[assignment]
        times["search"] += time.process_time() - middle  # type: ignore[assignment]
    print(dict(found), {name: f"{seconds:.1f} s" for name, seconds in times.items()})


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000, metavar="N", help="random schemas")
    parser.add_argument("--states", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="MaskBench's files, in place of random schemas")
    given_arguments = parser.parse_args()
    if given_arguments.folder:
        search_files(
            given_arguments.folder, given_arguments.count, given_arguments.states, random.Random(given_arguments.seed)
        )
        return
    found, excess = Counter[str](), Counter[int]()

    @seed(given_arguments.seed)
    @settings(
        max_examples=given_arguments.count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(KINDS, st.randoms(use_true_random=False))
    def measure(schema: object, chance: random.Random) -> None:
        try:
            index = guided.compile(guided.JsonSchema(schema, whitespace="compact"), WORDS, limits=LIMITS)
        except (SchemaError, LimitError):
            found["no value, or refused"] += 1
            return
        state = index.initial
        for step in range(3):
            said = index.remaining(state)
            exact = least(index, state, said, given_arguments.states)
            where = "at the start" if step == 0 else "within a text"
            found[f"{where}: {'undecided' if exact is None else 'exact' if exact == said else 'above'}"] += 1
            if exact is not None and exact < said:
                excess[said - exact] += 1
            allowed = [token for token in bits(index.mask(state)) if token not in WORDS.eos]
            if not allowed:
                break
            state = index.next(state, chance.choice(allowed))

    measure()
    for name, count in sorted(found.items()):
        print(f"{count:7,} {name}")
    print("tokens above the least, and how often:", dict(sorted(excess.items())))


if __name__ == "__main__":
    main()
