"""Mask times inside servers of any backend: a plugin of vLLM's that counts rows, and the seconds that they take, in ``/metrics``.

`variables` makes a server load `register`, by an entry point in a folder on its path. Times are wall time in the engine's thread, waiting
for other threads included, because the engine waits for them, too.
"""

import os
import time
from pathlib import Path
from typing import Any

import benchmarks

__all__ = ["per_row", "register", "variables"]

_ENTRY = "[vllm.general_plugins]\nserving_timing = benchmarks.serving_timing:register\n"


def variables(folder: Path) -> dict[str, str]:
    """Environment variables of a server that counts; files of an entry point are written into the folder."""
    found = folder / "serving_timing-1.dist-info"
    found.mkdir(parents=True, exist_ok=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: serving-timing\nVersion: 1\n")
    (found / "entry_points.txt").write_text(_ENTRY)
    root = Path(benchmarks.__file__).resolve().parent.parent
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(root), os.environ.get("PYTHONPATH", "")])}


def per_row(metrics: dict[str, float]) -> float | None:
    """Seconds per row, of a server's metrics."""
    rows = metrics.get("serving_timing_rows_total")
    return metrics["serving_timing_seconds_total"] / rows if rows else None


def register() -> None:
    """Make the engine count. Called by vLLM in each of its processes."""
    from prometheus_client import Counter
    from vllm.v1.structured_output import StructuredOutputManager

    usual = StructuredOutputManager._fill_bitmasks
    if hasattr(usual, "serving_timing"):
        return
    rows = Counter("serving_timing_rows", "Rows of masks filled.")
    seconds = Counter("serving_timing_seconds", "Seconds that filling them took.")

    def fill(self: Any, batch: Any) -> None:
        entries = list(batch)
        begin = time.perf_counter()
        usual(self, entries)
        took = time.perf_counter() - begin
        rows.inc(len(entries))
        seconds.inc(took)

    fill.serving_timing = True  # type: ignore[attr-defined]
    StructuredOutputManager._fill_bitmasks = fill
