"""The experiments that are one measurement and need no rows: E1 (logs), E6 (sizes), E7 (matching), E8 (the trigger)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.tooldec import funcqa
from benchmarks.tooldec.logs import RUNS, judged, logged_calls, written_calls
from benchmarks.tooldec.sizes import name_distances, sizes
from benchmarks.tooldec.trigger import tuned

__all__ = ["ONCE", "measure", "read"]

SEED = 5


def e1(_: Any, data: Path | None) -> dict[str, Any]:
    """Each run's calls by class."""
    if data is None:
        return {"our own": judged(list(written_calls()))}
    return {run: judged(list(logged_calls(data / "toolllm", run))) for run in RUNS}


def e6(model: Any, data: Path | None) -> dict[str, Any]:
    """Tokens of documentation, and distances of names."""
    return {"tokens": sizes(data, lambda text: len(model.encode(text))), "names": name_distances(data)}


def e7(_: Any, data: Path | None) -> dict[str, Any]:  # noqa: ARG001 - it needs no data of the papers
    """Cost of a step by naive matching and by the index."""
    from benchmarks.scaling import naive_matching

    lengths = naive_matching("smollm2", (1, 10, 30, 100, 300), 600)
    vocabularies = [
        row for name in ("mistral-32k", "smollm2", "llama3-128k") for row in naive_matching(name, (100,), 200)
    ]
    return {"by length": lengths, "by vocabulary": vocabularies}


def e8(model: Any, data: Path | None) -> dict[str, Any]:
    """The tuned row of the trigger."""
    return tuned(model, funcqa.training(None if data is None else data / "funcqa"), 40 if data else 8, SEED)


ONCE: dict[str, Callable[[Any, Path | None], dict[str, Any]]] = {"E1": e1, "E6": e6, "E7": e7, "E8": e8}


def measure(name: str, model: Any, data: Path | None, rows: Path) -> None:
    """Measure one of them, and keep what was found."""
    found = ONCE[name](model, data)
    rows.mkdir(parents=True, exist_ok=True)
    (rows / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{name}: measured", flush=True)


def read(name: str, rows: Path) -> dict[str, Any] | None:
    """What was found; None where it was not measured."""
    path = rows / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
