"""All benchmarks of patterns, one after the other: ``python -m benchmarks [--quick | --record]`` (``make bench``).

Without an option everything, into .cache/benchmarks: the records, the figures, and the documents made of them. ``--quick``: one vocabulary
and few repetitions, in two minutes. ``--record``: everything, into benchmarks/record, docs/benchmarks.md and
benchmarks/record/measurements.md. Every part is a process of its own. The exit status is that of the first part that fails, which
`benchmarks.regex` does where guided is wrong.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.vocabularies import MAIN

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
_LONG = "string 1000"


def parts(*, quick: bool) -> dict[str, list[str]]:
    """Arguments of each part."""
    if not quick:
        return {"regex": [], "scaling": [], "footprint": []}
    from benchmarks.definitions import load

    usual = [name for name in load() if name != _LONG]
    return {
        "regex": ["--repeat", "3", "--budget", "0.5", "--vocabulary", MAIN, "--pattern", *usual],
        "scaling": ["--repeat", "1", "--quick"],
        "footprint": ["--repeat", "1"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--quick", action="store_true", help="one vocabulary, few repetitions, no document")
    kind.add_argument("--record", action="store_true", help="into benchmarks/record and docs/benchmarks.md")
    given = parser.parse_args()
    folder = ROOT / ("benchmarks/record" if given.record else ".cache/benchmarks")
    commands = {
        name: [f"benchmarks.{name}", *arguments, "--json", str(folder / f"{name}.json")]
        for name, arguments in parts(quick=given.quick).items()
    }
    if not given.quick:
        commands["report"] = ["benchmarks.report", str(folder)]
    for name, command in commands.items():
        print(f"== {name}", flush=True)
        if status := subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
