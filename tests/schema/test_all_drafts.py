"""The official suite of drafts 3 to 2020-12, file by file: every verdict is right but for the cases listed here."""

import json
from pathlib import Path
from typing import Any

import pytest

from guided.errors import LimitError, SchemaError
from tests.archives import JSONSCHEMA, unpacked
from tests.schema import official
from tests.schema.engine import compiled, is_empty, refusal

SCHEMA_URI = {
    "draft3": "http://json-schema.org/draft-03/schema#",
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

# What is refused, by file.
REFUSED = {"multipleOf.json": "limit steps", "optional/format/idn-hostname.json": "format"}
# Instances that are judged otherwise than the suite says, by file and a part of the description, and why.
OTHERWISE = {
    ("optional/format/hostname.json", "punycoded IDN hostname"): "labels with xn-- are left out: Punycode is not a regular property",
    ("optional/content.json", ""): "content is an annotation, as all later drafts have it",
    ("optional/format/ecmascript-regex.json", "no support for lookbehind"): "ECMA-262 has had it since 2018",
}  # fmt: skip


# Each draft's files are dealt into so many parts, which run in parallel.
N_PARTS = 6


def _suite() -> Path:
    contents, problem = unpacked(JSONSCHEMA)
    if contents is None:
        pytest.skip(problem)
    return contents / JSONSCHEMA.name.removesuffix(".tar.gz") / "json"


@pytest.mark.network
@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
@pytest.mark.parametrize("draft", SCHEMA_URI)
def test_verdicts(draft: str, part: int) -> None:
    folder = _suite()
    top = folder / "tests" / draft
    paths = sorted(top.rglob("*.json"))
    assert len(paths) > N_PARTS
    for path in paths[part::N_PARTS]:
        _check_file(folder, draft, path.relative_to(top).as_posix())


def _check_file(folder: Path, draft: str, file: str) -> None:
    asserts = file.startswith("optional/format")
    for group in json.loads((folder / "tests" / draft / file).read_bytes()):
        schema, case = group["schema"], (file, group["description"])
        if isinstance(schema, dict):
            schema = {"$schema": SCHEMA_URI[draft], **schema}
        found = _verdicts(
            schema, [test["data"] for test in group["tests"]], folder, "assert" if asserts else "annotate"
        )
        if isinstance(found, str):
            assert found == REFUSED.get(file), case
            continue
        wrong = [
            test["description"] for test, verdict in zip(group["tests"], found, strict=True) if verdict != test["valid"]
        ]
        assert not [description for description in wrong if not _is_otherwise(file, description)], case


def _verdicts(schema: Any, instances: list[Any], folder: Path, mode: str) -> list[bool] | str:
    """Of each instance, whether it is accepted; or what is refused."""
    try:
        guide = compiled(
            schema, registry=official.registry(folder), property_order="any", numbers="any", escapes="any", format=mode
        ).guide()
        return [guide.accepts(json.dumps(instance, ensure_ascii=False).encode()) for instance in instances]
    except (SchemaError, LimitError) as error:
        return [False] * len(instances) if is_empty(error) else refusal(error)


def _is_otherwise(file: str, description: str) -> bool:
    return any(file == name and part in description for name, part in OTHERWISE)
