"""MaskBench: JSON Schema over real schemas with valid and invalid instances, engines side by side.

``python -m benchmarks.maskbench DIR [--engine NAME]... [--vocabulary V] [--sample N --seed S] [--json OUT]`` takes any folder of
MaskBench's files (``{"schema": ..., "tests": [{"valid": ..., "data": ...}]}``). Instances are texts of
``json.dumps(data, ensure_ascii=False)``, cut by the model's own tokenizer; at each step the mask is computed and must allow the token, and
at the end a token that ends the text. A valid instance must get through, an invalid one must not. Every engine runs in processes
of its own (`benchmarks.maskbench_worker`), one file at a time and the engines in turn; a file that takes more than the budget of CPU
time or memory, or in which the process stops working, counts as that, and the engine goes on with the next one in a new process. A
sample has files of each collection in proportion; ``--minutes`` ends a run early, and what it has done until then is a sample too. The
exit status is 1 where guided is wrong somewhere.
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
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.machine import describe, load, write
from benchmarks.maskbench_engines import NAMES, options
from benchmarks.maskbench_report import brief, common, report, source, summary
from benchmarks.vocabularies import MAIN
from benchmarks.vocabularies import NAMES as VOCABULARIES

__all__ = ["Worker", "main", "results"]

# Seconds of CPU time in which a process is to be ready: kernels may have to be compiled.
_START = 600.0
# A process that waits for ever spends no CPU time: so many seconds by the clock on the wall without any end it.
_IDLE = 60.0
# And so many times its budget of CPU time, by the clock on the wall, where it works now and then.
_WALL_FACTOR = 20


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
        self.seconds, self.megabytes, self.idle = seconds, megabytes, _IDLE
        command = [sys.executable, "-m", "benchmarks.maskbench_worker", "--engine", engine, "--vocabulary", vocabulary]
        self.process = subprocess.Popen(
            [*command, "--options", json.dumps(more)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if engine == "guided" else subprocess.DEVNULL,
            cwd=Path(__file__).parent.parent,
        )
        self.ready = self._answer(float("inf"), _START)
        if "ready" not in self.ready:
            raise RuntimeError(f"{engine} does not start: {self.ready.get('reason')}")

    def run(self, path: Path) -> dict[str, Any]:
        """What the process tells of a file, or how it died of it."""
        assert self.process.stdin
        try:
            self.process.stdin.write(f"{path}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return self._death()
        return self._answer(self.seconds * _WALL_FACTOR, self._spent() + self.seconds)

    @property
    def alive(self) -> bool:
        """Whether it takes another file."""
        return self.process.poll() is None

    def close(self) -> None:
        """End the process, if it has not ended yet."""
        assert self.process.stdin
        assert self.process.stdout
        with suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self._kill()
        self.process.stdout.close()

    def _answer(self, wall: float, cpu: float = float("inf")) -> dict[str, Any]:
        """A line of the process, which is looked at while it works: its memory, and its CPU time, which may come to ``cpu`` seconds."""
        assert self.process.stdout
        stream, data, deadline = self.process.stdout.fileno(), b"", time.monotonic() + wall
        before, idle_from = self._spent(), time.monotonic()
        while not data.endswith(b"\n"):
            ready, _, _ = select.select([stream], [], [], 0.02)
            if ready:
                if not (chunk := os.read(stream, 1 << 20)):
                    return self._death()
                data += chunk
            elif (resident := self._resident()) > self.megabytes:
                self._kill()
                return {"status": "over memory", "reason": "", "megabytes": resident}
            elif (spent := self._spent()) > cpu or time.monotonic() > deadline:
                self._kill()
                return {"status": "over time", "reason": ""}
            elif spent > before:
                before, idle_from = spent, time.monotonic()
            elif time.monotonic() - idle_from > self.idle:
                self._kill()
                return {"status": "over time", "reason": f"no CPU time for {self.idle:g} s"}
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
) -> Generator[tuple[Path, dict[str, Any]]]:
    """What an engine says to each file. Memory that earlier files left behind is not held against a file: it gets a process of its own."""
    worker = Worker(engine, vocabulary, seconds, megabytes, more)
    fresh = True
    try:
        for path in paths:
            if not worker.alive:
                worker.close()
                worker, fresh = Worker(engine, vocabulary, seconds, megabytes, more), True
            found = worker.run(path)
            if found["status"] == "over memory" and not fresh:
                worker.close()
                worker = Worker(engine, vocabulary, seconds, megabytes, more)
                found = worker.run(path)
            fresh = False
            yield path, found
    finally:
        worker.close()


def chosen(folder: Path, sample: int, seed: int) -> list[Path]:
    """The folder's files in order; or so many of them by lot, each collection in proportion, as is every beginning of the list.

    Raises
    ------
    SystemExit
        There are none.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise SystemExit(f"no *.json in {folder}")
    if not sample:
        return paths
    lot, collections = random.Random(seed), dict[str, list[Path]]()
    for path in paths:
        collections.setdefault(source(path.name), []).append(path)
    places = {}
    for files in collections.values():
        lot.shuffle(files)
        places |= {path: (number + lot.random()) / len(files) for number, path in enumerate(files)}
    return sorted(paths, key=places.__getitem__)[:sample]


def _tell(number: int, files: int) -> None:
    """How far a run has come: a line that is written over, or every tenth file a new one."""
    if sys.stderr.isatty():
        print(f"\r{number:,} of {files:,}", end="\n" if number == files else "", file=sys.stderr, flush=True)
    elif number % 10 == 0:
        print(f"{time.strftime('%H:%M:%S')}: {number:,} of {files:,}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engine", action="append", choices=NAMES, help="default: guided; give it several times")
    parser.add_argument("--vocabulary", default=MAIN, choices=VOCABULARIES)
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="so many files by lot; default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--minutes", type=float, metavar="M", help="no new file after so many, by the clock on the wall"
    )
    parser.add_argument("--seconds", type=float, default=15, help="CPU time of a file")
    parser.add_argument("--megabytes", type=float, default=2000, help="resident memory of an engine's process")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="an option of the engine")
    parser.add_argument("--json", type=Path, metavar="OUT", help="the record")
    parser.add_argument("--brief", type=Path, metavar="OUT", help="the record without what it tells of single files")
    arguments = parser.parse_args()
    paths = chosen(arguments.folder, arguments.sample or (sys.maxsize if arguments.minutes else 0), arguments.seed)
    engines: list[str] = list(dict.fromkeys(arguments.engine or ["guided"]))
    more = {name: json.loads(value) for name, _, value in (option.partition("=") for option in arguments.option)}
    record: dict[str, Any] = {
        "command": " ".join(["python -m benchmarks.maskbench", *sys.argv[1:]]),
        "machine": describe(),
        "vocabulary": arguments.vocabulary,
        "budget": {"seconds": arguments.seconds, "megabytes": arguments.megabytes},
        "options": {name: {**options(name), **more} for name in engines},
    }
    found: dict[str, dict[str, Any]] = {name: {} for name in engines}
    runs = [
        results(name, arguments.vocabulary, paths, arguments.seconds, arguments.megabytes, more) for name in engines
    ]
    end = time.monotonic() + 60 * (arguments.minutes or float("inf"))
    for number, row in enumerate(zip(*runs, strict=True), 1):
        for name, (path, result) in zip(engines, row, strict=True):
            found[name][path.name] = result
        _tell(number, len(paths))
        if time.monotonic() > end:
            paths = paths[:number]
            break
    for run in runs:
        run.close()
    record["files"] = len(paths)
    shared = common(found.values()) if len(engines) > 1 else None
    record["engines"] = {name: summary(paths, found[name], shared) for name in engines}
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
