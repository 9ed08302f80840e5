"""All benchmarks, one after the other: ``python -m benchmarks [--record]`` (``make bench``, ``make bench ARGS=--record``).

Without ``--record`` a short run: one vocabulary, few repetitions, tables on the terminal, records in .cache/benchmarks. With it the whole
run (about half an hour), into benchmarks/record, and docs/benchmarks.md is made anew from it. Every part is a process of
its own, one after the other. The exit status is that of the first part that fails.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from benchmarks.vocabularies import MAIN

ROOT = Path(__file__).parent.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--record", action="store_true", help="the whole run, into benchmarks/record and docs/benchmarks.md"
    )
    whole = parser.parse_args().record
    folder = ROOT / ("benchmarks/record" if whole else ".cache/benchmarks")
    folder.mkdir(parents=True, exist_ok=True)
    parts = {
        "regex": ["--repeat", "7"] if whole else ["--repeat", "3", "--budget", "3", "--vocabulary", MAIN],
        "scaling": ["--repeat", "3" if whole else "1"],
        "footprint": ["--repeat", "5" if whole else "1"],
    }
    for name, arguments in parts.items():
        print(f"== {name}", flush=True)
        command = [sys.executable, "-m", f"benchmarks.{name}", *arguments, "--json", str(folder / f"{name}.json")]
        if status := subprocess.run(command, cwd=ROOT, check=False).returncode:
            return status
    if whole:
        return subprocess.run([sys.executable, "-m", "benchmarks.report"], cwd=ROOT, check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
