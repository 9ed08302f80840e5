"""Schemas that are in daily use, from packages on PyPI: each compiles, and steered walks over a real vocabulary end in valid documents."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from guided.errors import SchemaError
from tests.archives import CHECK_JSONSCHEMA, DATACITE, FRICTIONLESS, unpacked
from tests.real_vocabularies import real_vocabulary
from tests.schema import official
from tests.schema.engine import compiled
from tests.schema.oracle_published import is_valid
from tests.schema.walks import steered_text

# What is refused: references to documents that are not in the package.
REFUSED = {"drone-ci.json": "$ref", "iso-8601.json": "pattern"}


def _files() -> list[Any]:
    found: list[Any] = []
    for archive in (CHECK_JSONSCHEMA, DATACITE, FRICTIONLESS):
        folder, problem = unpacked(archive)
        if folder is None:
            found.append(pytest.param(Path(), marks=pytest.mark.skip(reason=problem), id=archive.project))
            continue
        for path in sorted(folder.rglob("*.json")):
            if "json-schema.org" in path.read_text(encoding="utf-8", errors="replace")[:2000]:
                found.append(pytest.param(path, id=f"{archive.project}/{path.name}"))
    return found


@pytest.mark.parametrize("path", _files())
def test_walks_end_in_valid_documents(path: Path) -> None:
    schema, vocabulary = json.loads(path.read_bytes()), real_vocabulary("gpt2")
    options = {"property_order": "any", "format": "annotate", "whitespace": "compact"}
    if path.name in REFUSED:
        with pytest.raises(SchemaError) as caught:
            compiled(schema, vocabulary, registry=official.registry(), **options)
        assert caught.value.keyword == REFUSED[path.name]
        return
    index = compiled(schema, vocabulary, registry=official.registry(), **options)
    for seed in range(2):
        text = steered_text(index, vocabulary, random.Random(seed), free=20)
        if text is not None:
            assert is_valid(schema, json.loads(text)), text
