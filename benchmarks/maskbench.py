"""MaskBench: JSON Schema over real schemas with valid and invalid instances, engines side by side.

``python -m benchmarks.maskbench DIR [--engine NAME]... [--vocabulary V] [--sample N --seed S] [--json OUT]`` takes any folder of
MaskBench's files (``{"schema": ..., "tests": [{"valid": ..., "data": ...}]}``). Instances are texts of
``json.dumps(data, ensure_ascii=False)``, cut by the model's own tokenizer; at each step the mask is computed and must allow the token, and
at the end a token that ends the text. A valid instance must get through, an invalid one must not. Every engine runs in processes
of its own (`benchmarks.maskbench_worker`), one file at a time; a file that takes more than the budget of CPU time or memory counts as
that, and the engine goes on with the next one in a new process. The exit status is 1 where guided is wrong somewhere.
"""

import argparse
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, load, write
from benchmarks.maskbench_engines import NAMES, options
from benchmarks.maskbench_report import brief, report, summary
from benchmarks.vocabularies import MAIN
from benchmarks.vocabularies import NAMES as VOCABULARIES

__all__ = ["Worker", "main", "results"]

_WALL_FACTOR = (
    20  # a process that sleeps spends no CPU time: so many times the budget, by the clock on the wall, end it
)


class Worker:
    """An engine's process.

    Parameters
    ----------
    engine, vocabulary : str
    seconds : float
        CPU time of one file.
    megabytes : float
        Resident memory.
    more : dict
        Options of the engine beside its usual ones.
    """

    def __init__(self, engine: str, vocabulary: str, seconds: float, megabytes: float, more: dict[str, Any]) -> None:
        self.seconds, self.megabytes = seconds, megabytes
        command = [sys.executable, "-m", "benchmarks.maskbench_worker", "--engine", engine, "--vocabulary", vocabulary]
        self.process = subprocess.Popen(
            [*command, "--options", json.dumps(more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if engine == "guided" else subprocess.DEVNULL,
            cwd=Path(__file__).parent.parent,
        )
        self.ready = self._answer(600)
        if "ready" not in self.ready:
            trouble = self.process.stderr.read().decode(errors="replace") if self.process.stderr else ""
            raise RuntimeError(f"{engine} does not start: {self.ready.get('reason')}\n{trouble}")

    def run(self, path: Path) -> dict[str, Any]:
        """What the process tells of a file, or how it died of it."""
        assert self.process.stdin
        self.process.stdin.write(f"{path}\n".encode())
        self.process.stdin.flush()
        return self._answer(self.seconds * _WALL_FACTOR, self._spent() + self.seconds)

    @property
    def alive(self) -> bool:
        """Whether it takes another file."""
        return self.process.poll() is None

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _answer(self, wall: float, cpu: float = float("inf")) -> dict[str, Any]:
        """A line of the process, which is looked at while it works: its memory, and its CPU time, which may come to ``cpu`` seconds."""
        assert self.process.stdout
        stream, data, deadline = self.process.stdout.fileno(), b"", time.monotonic() + wall
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([stream], [], [], 0.02)
            if ready:
                if not (chunk := os.read(stream, 1 << 20)):
                    return self._death()
                data += chunk
            elif (resident := self._resident()) > self.megabytes:
                self._kill()
                return {"status": "over memory", "reason": "", "megabytes": resident}
            elif self._spent() > cpu or time.monotonic() > deadline:
                self._kill()
                return {"status": "over time", "reason": ""}
        found: dict[str, Any] = json.loads(data)
        if found.get("megabytes", 0) > self.megabytes and "status" in found:
            found = {"status": "over memory", "reason": "", "megabytes": found["megabytes"]}
        return found

    def _death(self) -> dict[str, Any]:
        status = self.process.wait()
        return {"status": "crashed", "reason": signal.Signals(-status).name if status < 0 else f"exit {status}"}

    def _kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def _spent(self) -> float:
        """Seconds of CPU time of all its threads so far, in steps of a hundredth."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _resident(self) -> float:
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):
            return 0.0
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def results(
    engine: str, vocabulary: str, paths: Sequence[Path], seconds: float, megabytes: float, more: dict[str, Any]
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """What an engine says to each file. Memory that earlier files left behind is not held against a file: it gets a process of its own."""
    worker = Worker(engine, vocabulary, seconds, megabytes, more)
    fresh = True
    for path in paths:
        if not worker.alive:
            worker, fresh = Worker(engine, vocabulary, seconds, megabytes, more), True
        found = worker.run(path)
        if found["status"] == "over memory" and not fresh:
            worker.close()
            worker = Worker(engine, vocabulary, seconds, megabytes, more)
            found = worker.run(path)
        fresh = False
        yield path, found
    worker.close()


def chosen(folder: Path, sample: int, seed: int) -> list[Path]:
    """The folder's files in order, or so many of them by lot.

    Raises
    ------
    SystemExit
        There are none.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise SystemExit(f"no *.json in {folder}")
    return sorted(random.Random(seed).sample(paths, sample)) if 0 < sample < len(paths) else paths


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", action="append", choices=NAMES, help="default: guided; give it several times")
    parser.add_argument("--vocabulary", default=MAIN, choices=VOCABULARIES)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many files by lot; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=15, help="CPU time of a file")
    parser.add_argument("--megabytes", type=float, default=2000, help="resident memory of an engine's process")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="an option of the engine")
    parser.add_argument("--json", type=Path, metavar="OUT", help="the record")
    parser.add_argument("--brief", type=Path, metavar="OUT", help="the record without what it tells of single files")
    arguments = parser.parse_args()
    paths = chosen(arguments.folder, arguments.sample, arguments.seed)
    engines: list[str] = list(dict.fromkeys(arguments.engine or ["guided"]))
    more = {name: json.loads(value) for name, _, value in (option.partition("=") for option in arguments.option)}
    record: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.maskbench", *sys.argv[1:]]),
        "machine": describe(),
        "vocabulary": arguments.vocabulary,
        "files": len(paths),
        "budget": {"seconds": arguments.seconds, "megabytes": arguments.megabytes},
        "options": {name: {**options(name), **more} for name in engines},
        "engines": {},
    }
    for name in engines:
        found: dict[str, dict[str, Any]] = {}
        for path, result in results(name, arguments.vocabulary, paths, arguments.seconds, arguments.megabytes, more):
            found[path.name] = result
            if sys.stderr.isatty():
                print(f"\r{name}: {len(found):,} of {len(paths):,}", end="", file=sys.stderr, flush=True)
        record["engines"][name] = summary(paths, found)
        if sys.stderr.isatty():
            print(file=sys.stderr)
    record["machine"]["load at end"] = load()
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(record, ensure_ascii=False, indent=1) + "\n")
    if arguments.brief:
        write(brief(record), arguments.brief)
    print(report(record))
    ours = record["engines"].get("guided", {"schemas": {}})["schemas"]
    return int(any(ours.get(name, 0) for name in ("wrong", "failed", "crashed")))


if __name__ == "__main__":
    sys.exit(main())
