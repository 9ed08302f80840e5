"""Schemas that are in daily use, from packages on PyPI: each compiles, and steered walks over a real vocabulary end in valid documents."""

import json
import random
from pathlib import Path

import pytest

from guided.errors import SchemaError
from tests.archives import CHECK_JSONSCHEMA, DATACITE, FRICTIONLESS, Archive, unpacked
from tests.real_vocabularies import real_vocabulary
from tests.schema import official
from tests.schema.engine import compiled
from tests.schema.oracle_published import is_valid
from tests.schema.walks import steered_text

# What is refused: references to documents that are not in the package.
REFUSED = {"drone-ci.json": "$ref", "iso-8601.json": "pattern"}


# Each archive's files are dealt into so many parts, which run in parallel.
N_PARTS = 6


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("archive", [CHECK_JSONSCHEMA, DATACITE, FRICTIONLESS], ids=lambda archive: archive.project)
def test_walks_end_in_valid_documents(archive: Archive, part: int) -> None:
    folder, problem = unpacked(archive)
    if folder is None:
        pytest.skip(problem)
    paths = [path for path in sorted(folder.rglob("*.json")) if _is_schema(path)]
    assert paths
    for path in paths[part::N_PARTS]:
        _check_walks(path)


def _is_schema(path: Path) -> bool:
    return "json-schema.org" in path.read_text(encoding="utf-8", errors="replace")[:2000]


def _check_walks(path: Path) -> None:
    schema, vocabulary = json.loads(path.read_bytes()), real_vocabulary("gpt2")
    options = {"property_order": "any", "format": "annotate", "whitespace": "compact"}
    if path.name in REFUSED:
        with pytest.raises(SchemaError) as caught:
            compiled(schema, vocabulary, registry=official.registry(), **options)
        assert caught.value.keyword == REFUSED[path.name], path.name
        return
    index = compiled(schema, vocabulary, registry=official.registry(), **options)
    for seed in range(2):
        text = steered_text(index, vocabulary, random.Random(seed), free=20)
        if text is not None:
            assert is_valid(schema, json.loads(text)), (path.name, text)
