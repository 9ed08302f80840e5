"""Run the programs of docs/comparison.md: ``python -m benchmarks.migration [LIBRARY ...] [--page]``.

Each program does five tasks with one library and the default model, in a process of its own. Each answer is checked by pydantic, Python's
``re`` or Lark, never by the library. What a library does not offer, or is not installed, is printed. The exit status is 1 if an
answer is wrong or a program fails. ``--page`` writes the programs into the page instead.

The libraries need two environments (requirements.txt, and transformers4.txt for those that do not run with transformers 5).
instructor needs a server: set OPENAI_BASE_URL, OPENAI_API_KEY and OPENAI_MODEL.
"""

import argparse
import importlib
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import lark
from pydantic import validate_call

__all__ = ["LIBRARIES", "PAGE", "TASKS", "page", "section"]

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
PAGE = HERE.parent.parent / "docs" / "comparison.md"


def section(program: str, name: str) -> str:
    """The lines of a program between ``# --- name`` and the next such mark, without its own imports from this package."""
    text = (HERE / f"{program}.py").read_text(encoding="utf-8")
    found = re.search(rf"^# --- {name}\n(.*?)(?=^# --- |\Z)", text, flags=re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"{program}.py has no section {name!r}")
    code = re.sub(r"(?<=\n)\n?^from benchmarks\.migration\.tasks import .*\n(?=\n)", "", found[1], flags=re.MULTILINE)
    return code.strip() + "\n"


def page(text: str) -> str:
    """The page with the code between its marks ``<!-- code: NAME -->`` and ``<!-- end -->`` made anew from the programs."""

    def made(match: re.Match[str]) -> str:
        name = match[1]
        if name == "tasks":
            code = f"```python\n{section('tasks', name)}```\n"
        else:
            code = "\n".join(
                _tab(distribution, section(program, name)) for program, (distribution, _) in LIBRARIES.items()
            )
        return f"<!-- code: {name} -->\n\n{code}\n<!-- end -->"

    return re.sub(r"<!-- code: (\w+) -->\n.*?<!-- end -->", made, text, flags=re.DOTALL)


def _tab(distribution: str, code: str) -> str:
    title = "guided" if distribution == "guided-decoding" else distribution
    return f'=== "{title}"\n\n' + textwrap.indent(f"```python\n{code}```\n", "    ")


def _answers(program: str) -> int:
    """Do the tasks with one library in this process, and print what came; 1 if something is wrong."""
    from benchmarks.migration import tasks

    module = importlib.import_module(f"benchmarks.migration.{program}")
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
    status = 0
    for task, (prompt, judge) in judged.items():
        function = getattr(module, "total" if task == "sum" else task, None)
        if function is None:
            print(f"  {task:7} not offered", flush=True)
            continue
        try:
            found = function(prompt)
            judge(found)
            print(f"  {task:7} {found!r}", flush=True)
        except Exception as error:  # a library may raise anything
            print(
                f"  {task:7} FAILED: {type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}",
                flush=True,
            )
            status = 1
    return status


def _best(found: str | dict[str, float]) -> str:
    return found if isinstance(found, str) else max(found, key=found.__getitem__)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library", nargs="*", metavar="LIBRARY", help=", ".join(LIBRARIES))
    parser.add_argument("--page", action="store_true", help="write the programs into docs/comparison.md")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := [name for name in given.library if name not in LIBRARIES]:
        parser.error(f"unknown library {unknown[0]!r}: one of {', '.join(LIBRARIES)}")
    if given.page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return 0
    if given.here:
        return _answers(given.library[0])
    status = 0
    for program in given.library or LIBRARIES:
        distribution, module = LIBRARIES[program]
        if importlib.util.find_spec(module) is None:
            print(f"{program}: not run: pip install {distribution}", flush=True)
        elif program == "instructor" and "OPENAI_BASE_URL" not in os.environ:
            print(f"{program} {version(distribution)}: not run: needs a server (OPENAI_BASE_URL)", flush=True)
        else:
            print(f"{program} {version(distribution)}, transformers {version('transformers')}", flush=True)
            # PERF: threads of torch that spin share the cores badly with other processes.
            environment = {"OMP_WAIT_POLICY": "PASSIVE", "TQDM_DISABLE": "1", **os.environ}
            command = [sys.executable, "-W", "ignore", "-m", "benchmarks.migration", "--here", program]
            status |= subprocess.run(command, env=environment, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
