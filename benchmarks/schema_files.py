"""What exploring an index of a schema costs, and loading it again: ``python -m benchmarks.schema_files VOCABULARY_FILE [--repeat N]``.

Median CPU milliseconds to compile, to make states and masks ahead, to save them, and to load the file, which stands for the first two.
Kernels are warm; what all indices over one vocabulary share has been made.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import guided
from benchmarks.clock import median, no_collection, timed
from guided.vocabulary.vocabulary import Vocabulary

__all__ = ["SCHEMAS", "costs"]

_PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
        "email": {"type": "string", "format": "email"},
        "tags": {"type": "array", "items": {"enum": ["a", "b", "c"]}, "maxItems": 5},
        "friends": {"type": "array", "items": {"$ref": "#"}},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, Any] = {"any JSON": True, "a person": _PERSON}


def costs(schema: Any, vocabulary: Vocabulary, n_states: int, repeat: int, path: Path) -> dict[str, float]:
    """Milliseconds and bytes for one schema and number of states."""
    spec = guided.JsonSchema(schema)
    rows = []
    guided.compile(spec, vocabulary).explore(n_states)
    for _ in range(repeat):
        with no_collection():
            index, compiled, _ = timed(guided.compile, spec, vocabulary)
            _, explored, _ = timed(index.explore, n_states)
            _, saved, _ = timed(index.save, path)
            _, loaded, _ = timed(guided.load_index, path, vocabulary)
        rows.append((compiled, explored, saved, loaded))
    compile_, explore, save, load = map(median, zip(*rows, strict=True))
    return {"compile": compile_, "explore": explore, "save": save, "load": load, "bytes": path.stat().st_size}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vocabulary", type=Path)
    parser.add_argument("--repeat", type=int, default=5)
    arguments = parser.parse_args()
    vocabulary = Vocabulary.from_file(arguments.vocabulary)
    print("| schema | states | compile, ms | explore, ms | save, ms | load, ms | file, MB |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, schema in SCHEMAS.items():
            for n_states in (100, 1000, 5000):
                found = costs(schema, vocabulary, n_states, arguments.repeat, Path(folder) / "schema.index")
                times = " | ".join(f"{found[part]:.1f}" for part in ("compile", "explore", "save", "load"))
                print(f"| {name} | {n_states:,} | {times} | {found['bytes'] / 1e6:.2f} |")


if __name__ == "__main__":
    main()
