"""Walks of random schemas under random options: ``python -m benchmarks.schema_walks [--count N] [--seconds S] [--log FILE]``.

From each number from ``--seed`` on a dozen schemas are drawn (`tests.schema.strategies`), each with options of all kinds: whitespace (also
by patterns of one's own), the order of properties, numbers, escapes, formats. Over a real vocabulary tokens are taken by lot, and after so
many as the lot says the text is steered to its end within what is left. Every text must be JSON, as short as was promised, a text of the
schema and its options by the plain definition (`tests.schema.oracle_text`), and valid by jsonschema where its floats can tell. It ends
when ``--count`` texts were checked, or ``--seconds`` of CPU time have gone. The log has a line of JSON for each number: what came out so
far, and where texts were wrong; a run with a log that is there goes on where it ended. The exit status is 1 where anything was wrong.

A limit that is reached on the way, as masks within a budget may in objects of any names with escapes of all kinds, is counted by its name.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from benchmarks.random_grammars import begun
from benchmarks.vocabularies import MAIN, NAMES, vocabulary
from guided.errors import LimitError, SchemaError
from guided.schema.formula.atoms import JsonOptions
from guided.vocabulary.vocabulary import Vocabulary
from tests.schema.engine import compiled, is_empty, refusal
from tests.schema.oracle import Undefined
from tests.schema.oracle_published import is_valid
from tests.schema.oracle_text import has_format, is_text, read
from tests.schema.strategies import discriminated, plain_schemas, schemas
from tests.schema.walks import steered_text

__all__ = ["main"]

SCHEMAS = 12
# Tokens by lot before a text is steered to its end.
FREE = (0, 1, 3, 10, 40, 120)
KINDS = st.one_of(
    schemas(8),
    schemas(4, about="object", references=False),
    schemas(4, about="array", references=False),
    schemas(4, about="array", references=False, unique=True),
    schemas(4, about="string", references=False, formats=True),
    schemas(4, about="number", references=False),
    schemas(4, about="object", unevaluated=True),
    schemas(4, about="array", unevaluated=True),
    discriminated(),
)
OPTIONS = st.fixed_dictionaries(
    {
        "whitespace": st.sampled_from(
            ["compact", "flexible", "[ ]?", "[ \\n]{0,2}", "pretty(0)", "pretty(2)", "pretty(4)"]
        ),
        "property_order": st.sampled_from(["schema", "any"]),
        "numbers": st.sampled_from(["plain", "any", "dumps"]),
        "escapes": st.sampled_from(["canonical", "any", "dumps"]),
        "format": st.sampled_from(["annotate", "assert"]),
    }
)


def walked(schema: Any, is_plain: bool, options: dict[str, Any], words: Vocabulary, chance: random.Random) -> str:
    """What a walk came to: a text, or in a word why there is none.

    Raises
    ------
    AssertionError
        The text is none of the schema, or was not ended as promised.
    """
    try:
        index = compiled(schema, words, **options)
    except (SchemaError, LimitError) as error:
        return "schemas without values" if is_empty(error) else f"refused: {refusal(error)}"
    try:
        text = steered_text(index, words, chance, chance.choice(FREE))
    except LimitError as error:
        return f"reached on the way: {refusal(error)}"
    if text is None:
        return "ends too far away"
    # Why two changes: the definition has an order for plain schemas only; texts of integers in ``dumps`` are some of those in ``any``.
    order = options["property_order"] if is_plain else "any"
    spelling = JsonOptions(
        **{**options, "property_order": order, "numbers": options["numbers"].replace("dumps", "any")}
    )
    try:
        # Names that are not declared may come again where that does no harm.
        is_right = is_text(schema, text, spelling, formats=has_format, may_repeat=True)
        assert is_right, f"no text of the schema: {text!r}"
    except Undefined:
        return "schemas without meaning"
    value = json.loads(text)
    # Why also formats: jsonschema does not assert them, and where exactly one of two shall hold that may say less or more.
    if options["format"] == "assert" and '"format"' in json.dumps(schema):
        return "texts, by the definition alone"
    if not all(number.lstrip("-").isdigit() and len(number) < 15 for number in read(text).numbers):
        return "texts, by the definition alone"
    assert is_valid(schema, value), f"jsonschema refuses {text!r}"
    return "texts"


def walks(number: int, words: Vocabulary, counts: Counter[str], wrong: list[dict[str, Any]]) -> None:
    """A dozen walks of a number."""

    @seed(number)
    @settings(
        max_examples=SCHEMAS,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(st.just(False), KINDS) | st.tuples(st.just(True), plain_schemas()), OPTIONS, st.integers(0, 2**32))
    def run(kind: tuple[bool, Any], options: dict[str, Any], lot: int) -> None:
        is_plain, schema = kind
        try:
            counts[walked(schema, is_plain, options, words, random.Random(lot))] += 1
        except Exception as error:  # what breaks is wrong too, and others are to be found
            told = f"{type(error).__name__}: {error}"
            wrong.append({"number": number, "schema": schema, "options": options, "lot": lot, "error": told[:500]})
            print(json.dumps(wrong[-1]), flush=True)

    run()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="texts to check")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="CPU time of this run")
    parser.add_argument("--seed", type=int, default=0, help="the first number")
    parser.add_argument("--vocabulary", default=MAIN, choices=NAMES)
    parser.add_argument("--log", type=Path, default=Path(".cache/schema_walks.jsonl"))
    arguments = parser.parse_args()
    words = vocabulary(arguments.vocabulary)
    state = begun(arguments.log, arguments.seed)
    counts, wrong = Counter[str](state["counts"]), state["mismatches"]
    arguments.log.parent.mkdir(parents=True, exist_ok=True)
    begin, spent = time.process_time(), state["cpu_s"]

    def texts() -> int:
        return sum(count for name, count in counts.items() if name.startswith("texts"))

    while texts() < arguments.count and time.process_time() - begin < arguments.seconds:
        walks(state["next"], words, counts, wrong)
        state["next"] += 1
        state["counts"], state["cpu_s"] = dict(sorted(counts.items())), round(spent + time.process_time() - begin, 1)
        with arguments.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(state) + "\n")
    print(f"{texts():,} texts, {len(wrong)} wrong: {state['counts']}, {state['cpu_s']} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
