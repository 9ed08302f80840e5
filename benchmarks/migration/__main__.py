"""Run the programs of docs/comparison.md: ``python -m benchmarks.migration [LIBRARY ...] [--json FILE]``.

Each program does five tasks with one library and the default model, in a process of its own. Each answer is checked by pydantic, Python's
``re`` or Lark, never by the library. What a library does not offer, or is not installed, is printed. The exit status is 1 if an
answer is wrong or a program fails. ``--json`` puts the outcomes of these libraries into a record and keeps those of others.

The libraries need two environments (requirements.txt, and transformers4.txt for those that do not run with transformers 5).
instructor needs a server: set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.
"""

import argparse
import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lark
from pydantic import validate_call

from benchmarks import machine

__all__ = ["LIBRARIES", "RECORD", "TASKS"]

# By the name of the program: the distribution, and the module that it installs.
LIBRARIES = {
    "guided": ("guided-decoding", "guided"),
    "outlines": ("outlines", "outlines"),
    "guidance": ("guidance", "guidance"),
    "xgrammar": ("xgrammar", "xgrammar"),
    "llguidance": ("llguidance", "llguidance"),
    "lm_format_enforcer": ("lm-format-enforcer", "lmformatenforcer"),
    "instructor": ("instructor", "instructor"),
}
TASKS = ("person", "label", "month", "sum", "call")
HERE = Path(__file__).parent
RECORD = HERE.parent / "record" / "migration.json"


def _answers(program: str) -> dict[str, Any]:
    """Do the tasks with one library in this process, print what came, and return it: each answer is right, wrong, failed or not offered."""
    from benchmarks.migration import tasks

    start, load = time.perf_counter(), machine.load()
    module = importlib.import_module(f"benchmarks.migration.{program}")
    load_s = round(time.perf_counter() - start, 2)
    call: dict[str, Callable[..., Any]] = {
        tool.__name__: validate_call(tool) for tool in (tasks.add, tasks.get_weather)
    }
    parser = lark.Lark(tasks.SUM, parser="lalr")
    # Prompt of a task, and what fails for a wrong answer.
    judged: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "person": (tasks.PERSON_PROMPT, lambda found: tasks.Person.model_validate(found.model_dump())),
        "label": (tasks.LABEL_PROMPT, lambda found: tasks.LABELS.index(_best(found))),
        "month": (tasks.MONTH_PROMPT, lambda found: re.fullmatch(tasks.MONTH, found).end()),  # type: ignore[union-attr]
        "sum": (tasks.SUM_PROMPT, parser.parse),
        "call": (tasks.CALL_PROMPT, lambda found: call[found[0]](**found[1])),
    }
    found: dict[str, dict[str, Any]] = {}
    for task, (prompt, judge) in judged.items():
        function = getattr(module, "total" if task == "sum" else task, None)
        if function is None:
            row = {"answer": "not offered"}
        else:
            start = time.perf_counter()
            row = _judged(function, judge, prompt)
            row["seconds"] = round(time.perf_counter() - start, 2)
        found[task] = row
        print(f"  {task:7}", *row.values(), flush=True)
    names = (LIBRARIES[program][0], "transformers", "torch", "pydantic", "openai")
    return {**machine.describe(*names), "load at start": load, "load_s": load_s, "tasks": found}


def _judged(function: Callable[[str], Any], judge: Callable[[Any], Any], prompt: str) -> dict[str, Any]:
    try:
        found = function(prompt)
    except Exception as error:  # a library may raise anything
        return {"answer": "failed", "error": _brief(error)}
    try:
        judge(found)
    except Exception as error:
        return {"answer": "wrong", "text": repr(found), "error": _brief(error)}
    return {"answer": "right", "text": repr(found)}


def _brief(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}"


def _best(found: str | dict[str, float]) -> str:
    return found if isinstance(found, str) else max(found, key=found.__getitem__)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="*", metavar="LIBRARY", help=", ".join(LIBRARIES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="put the outcomes into this record")
    parser.add_argument("--here", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := [name for name in given.library if name not in LIBRARIES]:
        parser.error(f"unknown library {unknown[0]!r}: one of {', '.join(LIBRARIES)}")
    if given.here:
        found = _answers(given.library[0])
        given.here.write_text(json.dumps(found), encoding="utf-8")
        return int(any(row["answer"] in ("wrong", "failed") for row in found["tasks"].values()))
    status, record = 0, dict[str, Any]()
    for program in given.library or LIBRARIES:
        distribution, module = LIBRARIES[program]
        reason = ""
        if importlib.util.find_spec(module) is None:
            print(f"{program}: not run: pip install {distribution}", flush=True)
            reason = "not installed"
        elif program == "instructor" and "OPENAI_BASE_URL" not in os.environ:
            reason = "needs a server (OPENAI_BASE_URL)"
            print(f"{program} {version(distribution)}: not run: {reason}", flush=True)
        if reason:
            record[program] = {"not run": reason}
            continue
        print(f"{program} {version(distribution)}, transformers {version('transformers')}", flush=True)
        # PERF: threads of torch that spin share the cores badly with other processes.
        environment = {"OMP_WAIT_POLICY": "PASSIVE", "TQDM_DISABLE": "1", **os.environ}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "found.json"
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.migration", "--here", str(file), program]
            status |= subprocess.run(command, env=environment, check=False).returncode
            record[program] = json.loads(file.read_text()) if file.exists() else {"not run": "the program failed"}
    if given.json:
        kept = json.loads(given.json.read_text(encoding="utf-8")) if given.json.exists() else {}
        both = kept | {program: row for program, row in record.items() if "tasks" in row or program not in kept}
        machine.write({program: both[program] for program in LIBRARIES if program in both}, given.json)
    return status


if __name__ == "__main__":
    sys.exit(main())
