"""Real schemas with valid and invalid instances: no verdict is wrong, and nearly every schema compiles.

The files are MaskBench's (``{"schema": ..., "tests": [{"valid": ..., "data": ...}]}``), in a folder ``maskbench-dev`` where
`official.data_folder` looks; tokens and times are for `benchmarks.maskbench`.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from guided.errors import LimitError, SchemaError
from tests.real_vocabularies import real_vocabulary
from tests.schema import official
from tests.schema.engine import compiled, is_empty
from tests.schema.oracle_published import is_valid
from tests.schema.walks import steered_text

pytestmark = [pytest.mark.slow, pytest.mark.network]

PARTS = 12


def files(part: int) -> list[Path]:
    folder = official.data_folder("maskbench-dev")
    if folder is None:
        pytest.skip(f"maskbench-dev is {official.MISSING}")
    return sorted(folder.glob("*.json"))[part::PARTS]


def wrong_verdicts(path: Path) -> Iterator[str]:
    """The instances of a file that are judged wrong; errors pass through."""
    content = json.loads(path.read_bytes())
    try:
        guide = compiled(content["schema"], property_order="any", numbers="any").guide()
        for number, test in enumerate(content["tests"]):
            text = json.dumps(test["data"], ensure_ascii=False).encode()
            if guide.accepts(text) != test["valid"]:
                yield f"{path.name}: instance {number}, which is {'valid' if test['valid'] else 'invalid'}"
    except SchemaError as error:
        if not is_empty(error):
            raise
        yield from (f"{path.name}: no value" for test in content["tests"] if test["valid"])


@pytest.mark.parametrize("part", range(PARTS))
def test_instances_of_real_schemas_are_judged_right(part: int) -> None:
    paths, wrong, refused = files(part), [], []
    for path in paths:
        try:
            wrong += list(wrong_verdicts(path))
        except (SchemaError, LimitError) as error:
            refused.append(f"{path.name}: {error}")
    assert not wrong
    assert len(refused) <= 0.02 * len(paths), refused


@pytest.mark.parametrize("order", ["any", "schema"])
def test_walks_over_real_schemas_end_in_valid_documents(order: str) -> None:
    vocabulary, chance, judged = real_vocabulary("gpt2"), random.Random(7), 0
    for path in chance.sample([path for part in range(PARTS) for path in files(part)], 40):
        schema = json.loads(path.read_bytes())["schema"]
        try:
            index = compiled(schema, vocabulary, property_order=order, whitespace="compact", format="annotate")
        except (SchemaError, LimitError):
            continue
        # Why outside: what compiles can be walked.
        text = steered_text(index, vocabulary, chance)
        if text is not None:
            assert is_valid(schema, json.loads(text)), (path.name, text)
            judged += 1
    assert judged > 30


@pytest.mark.parametrize("part", range(PARTS))
def test_real_schemas_that_compile_are_walked(part: int) -> None:
    """A limit is met by the compile, or never: with any order of properties, and with closed objects, too."""
    vocabulary, chance, walked = real_vocabulary("gpt2"), random.Random(part), 0
    for path in files(part):
        order, is_open = chance.choice(["any", "schema"]), chance.random() < 0.5
        options = {
            "property_order": order,
            "additional_properties": is_open,
            "format": "annotate",
            "unsupported": "record",
        }
        schema = json.loads(path.read_bytes())["schema"]
        try:
            index = compiled(schema, vocabulary, whitespace="compact", **options)
        except (SchemaError, LimitError):
            continue
        steered_text(index, vocabulary, chance)
        walked += 1
    assert walked > 50
