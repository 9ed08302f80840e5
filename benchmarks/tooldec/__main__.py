"""The experiments of the papers with a local model: ``python -m benchmarks.tooldec [--experiment E2,E4] [--all] [--model PATH]``.

--experiment LIST  some of E1 to E9; all by default
--model PATH       a GGUF file or a folder of transformers; the default model otherwise
--dtype NAME       "float32" instead of the model's own type; without bfloat16 in hardware, searches take a fifth of the time
--budget MINUTES   for the experiments with a model; a run that is repeated goes on where it stood (45)
--part SHARE       of the problems of each setting: 0.5 for half of them
--all              all problems, no budget
--search [WHAT]    single calls of E2, E3 and E4 and paths of E9 by masks and searches only: smc and beam with 8 or 32 particles, names by
                   their probabilities (names,8,32 by default); rows in a folder of their own
--data DIR         the papers' data (GUIDED_DATA, or ../shared/data); where it is not, problems of our own are asked
--rows DIR         where rows are kept (.cache/tooldec/MODEL)
--report           measure nothing; tables and figures out of the rows there are
--compare [DIR]    at the end: which figures are outside the record's 95 % intervals; 1 where one is
--record           rows, summary and figures into benchmarks/record/tooldec, and benchmarks/record/tooldec.md
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import guided
from benchmarks import machine
from benchmarks.tooldec import report, results
from benchmarks.tooldec.arms import GUIDED, SEARCHES, Bench
from benchmarks.tooldec.once import ONCE, measure
from benchmarks.tooldec.plan import DEFAULT, JOBS, SEARCHED_DEFAULT, SHARES, Size
from benchmarks.tooldec.plots import draw
from benchmarks.tooldec.reproduction import compare, described
from benchmarks.tooldec.rows import Journal
from benchmarks.tooldec.searched import searched_tables

__all__ = ["main"]

ROOT = Path(__file__).parent.parent.parent
# What processes beside each other ask: equal shares, and an experiment's rows are written by one of them.
GROUPS = (("E2", "E3", "E9"), ("E4", "E5"))
_PACKAGES = ("torch", "transformers", "tokenizers", "llama-cpp-python")
EXPERIMENTS = tuple(f"E{number}" for number in range(1, 10))


def main(arguments: list[str] | None = None) -> int:
    """Run, and print the tables; 1 where a guided call is not one."""
    # Why before torch: it reads them when it is imported; more threads do not help a step of one text.
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    given = _arguments(arguments)
    data = given.data if (given.data / "funcqa").is_dir() else None
    if data is None:
        print(f"{given.data} has no data: problems of our own are asked")
    label = "default" if given.model is None else Path(given.model).name.removesuffix(".gguf")
    label += f"-{given.dtype}" if given.dtype else ""
    rows = given.rows or ROOT / ".cache" / "tooldec" / (label if data else f"{label}, own problems")
    if given.search and given.rows is None:
        rows = rows.with_name(f"{rows.name}, searches")
    chosen = given.experiment.split(",") if given.experiment else list(EXPERIMENTS)
    if not given.report:
        _measure(chosen, given, data, rows, label)
    if given.is_worker:
        return 0
    made = searched_tables(report.record_of(label), rows) if given.search else report.tables(rows)
    for name, text in made.items():
        print(f"\n== {name}\n{text}")
    if given.record:
        report.write(rows, report.record_of(label) / "searches" if given.search else report.record_of(label))
    print(f"\nfigures: {', '.join(str(rows / f'{name}.png') for name in draw(rows, rows))}")
    outside = given.compare is not None and _compare(rows, given.compare or report.record_of(label))
    wrong = [row for name in JOBS for row in results.guided_errors(results.read_rows(rows, name))]
    for row in wrong:
        print(f"a guided arm gave what is no call: {row}")
    return int(bool(wrong) or outside)


def _compare(rows: Path, record: Path) -> bool:
    """Print how a run differs from a record; does a figure fall outside the record's intervals, or is there none?"""
    found = compare(rows, record)
    print(f"\n== {rows} against {record}\n{described(found)}")
    return not found or any(each.outside for each in found)


def _measure(chosen: list[str], given: argparse.Namespace, data: Path | None, rows: Path, label: str) -> None:
    command = " ".join(["python -m benchmarks.tooldec", *sys.argv[1:]])
    if not given.is_worker:
        machine.write({"command": command, "model": label, **machine.describe(*_PACKAGES)}, rows / "machine.json")
        others = (
            []
            if given.workers == 1
            else [group for part in GROUPS if (group := [name for name in part if name in chosen])]
        )
        if len(others) > 1:
            _in_processes(others, given, rows)
            chosen = [name for name in chosen if name not in JOBS]
    model: Any = None
    if any(name in JOBS or name in ("E6", "E8") for name in chosen):
        model = guided.load(given.model, **({"dtype": given.dtype} if given.dtype else {}))
    for name in chosen:
        if name == "E8" and model is not None and not hasattr(model, "hf_model"):
            print("E8: not run, since a row is tuned in torch: it needs a model of transformers")
        elif name in ONCE:
            measure(name, model, data, rows)
    problems = {
        what: max(1, round(given.part * count))
        for what, count in (SEARCHED_DEFAULT if given.search else DEFAULT).items()
    }
    size = Size(data, {}, (0, 1, 2), given.search) if given.all else Size(data, problems, searches=given.search)
    total = sum(SHARES[name] for name in chosen if name in JOBS)
    end = time.monotonic()
    for name in chosen:
        if name in JOBS:
            end += float("inf") if given.all else 60 * given.budget * SHARES[name] / total
            _run(name, model, label, size, rows, end)


def _in_processes(groups: list[list[str]], given: argparse.Namespace, rows: Path) -> None:
    """One process for each group; each has the whole time."""
    options = ["--is-worker", "--budget", str(given.budget), "--data", str(given.data), "--rows", str(rows)]
    options += ["--part", str(given.part)]
    options += ["--all"] if given.all else []
    options += ["--search", ",".join(given.search)] if given.search else []
    options += ["--model", given.model] if given.model else []
    options += ["--dtype", given.dtype] if given.dtype else []
    command = [sys.executable, "-m", "benchmarks.tooldec", *options, "--experiment"]
    running = [subprocess.Popen([*command, ",".join(group)], cwd=ROOT) for group in groups]
    if failed := [process.args for process in running if process.wait()]:
        raise SystemExit(f"failed: {failed}")


def _run(name: str, model: Any, label: str, size: Size, rows: Path, end: float) -> None:
    bench = Bench(model, label, Journal(rows / f"{name}.jsonl"), {})
    # What searches are compared with, and the record of the same model has already.
    recorded = Journal(report.record_of(label) / f"{name}.jsonl") if size.searches else None
    begin, made, known = time.monotonic(), 0, 0
    for job in JOBS[name](bench, size):
        if bench.journal.has(job) or (recorded is not None and job.key[2] not in GUIDED and recorded.has(job)):
            known += 1
            continue
        if time.monotonic() > end:
            print(
                f"{name}: stopped after {(time.monotonic() - begin) / 60:.1f} minutes; run again to go on", flush=True
            )
            break
        bench.journal.add(job)
        made += 1
        if made % 50 == 0:
            print(f"{name}: {made} rows in {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{name}: {made} rows measured, {known} known", flush=True)


def _searches(text: str) -> tuple[str, ...]:
    found = tuple(text.split(","))
    if not set(found) <= set(SEARCHES):
        raise argparse.ArgumentTypeError(f"must be some of {', '.join(SEARCHES)}, with commas between them")
    return found


def _part(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1")
    return value


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    folder = Path(os.environ.get("GUIDED_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--experiment", default="", help="E1 to E9, with commas between them")
    parser.add_argument("--model", help="a GGUF file or a folder of transformers")
    parser.add_argument("--dtype", help="float32, instead of the model's own")
    parser.add_argument("--budget", type=float, default=45.0, help="minutes")
    parser.add_argument("--part", type=_part, default=1.0, help="of the problems of each setting, from 0 to 1")
    parser.add_argument("--all", action="store_true", help="all problems, no budget")
    parser.add_argument(
        "--search",
        type=_searches,
        nargs="?",
        const=tuple(SEARCHES),
        default=(),
        help="masks against searches: some of 8, 32, names",
    )
    parser.add_argument("--data", type=Path, default=folder)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--workers", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--is-worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--report", action="store_true", help="measure nothing")
    parser.add_argument(
        "--compare", type=Path, nargs="?", const=False, help="with a record, that of this model by default"
    )
    parser.add_argument(
        "--record", action="store_true", help="into benchmarks/record/tooldec and benchmarks/record/tooldec.md"
    )
    given = parser.parse_args(arguments)
    unknown = set(given.experiment.split(",")) - set(EXPERIMENTS) - {""}
    if unknown:
        parser.error(f"there is no experiment {', '.join(sorted(unknown))}")
    return given


if __name__ == "__main__":
    sys.exit(main())
