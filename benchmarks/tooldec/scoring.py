"""What a written call is: its class of error, and whether it is the right one.

Classes are the acceptor's (`guided.CallError.kind`): *name*, *argument*, *syntax*. A call that is followed by something else on its line
has a wrong *end*, which is counted apart and is no tool error. *cut* is the beginning of a call that the budget of tokens ended.
"""

import math
from dataclasses import dataclass
from typing import Any

import guided
from benchmarks.tooldec.problems import Problem, Setting
from guided.calls.parse import parse_text
from guided.calls.reads import Call
from guided.calls.running import run

__all__ = ["Read", "is_near", "read_line", "run_call", "scored"]


@dataclass(frozen=True, slots=True)
class Read:
    """A line, read.

    Attributes
    ----------
    call : Call or None
    error : str
        Class of the error; empty where there is a call.
    has_wrong_end : bool
        Does something follow the call?
    is_open : bool
        Is the line the beginning of a call?
    """

    call: Call | None
    error: str = ""
    has_wrong_end: bool = False
    is_open: bool = False


def read_line(text: str, spec: guided.Tools) -> Read:
    """Read what was written after ``Tool:``, up to the end of the line; ``spec`` is of calls alone."""
    line = text.partition("\n")[0].rstrip()
    try:
        return Read(parse_text(line, spec)[0])
    except guided.CallError as error:
        first = error
    # What was read before the error is a call and something behind it, or no call.
    for end in range(len(line), 0, -1):
        if line[end - 1] != ")":
            continue
        try:
            return Read(parse_text(line[:end], spec)[0], has_wrong_end=True)
        except guided.CallError:
            continue
    return Read(None, first.kind, is_open=first.position >= len(line.encode()))


def run_call(call: Call, spec: guided.Tools) -> Any:
    """What the tool gives; None where it raises."""
    return run(call, next(tool for tool in spec.tools if tool.name == call.name)).result


def is_near(found: Any, answer: float | None) -> bool:
    """Within 0.1 %, as the paper counts; the sign is left out, since two problems negate the call's result."""
    if not isinstance(found, int | float) or answer is None:
        return False
    return math.isclose(abs(found), abs(answer), rel_tol=1e-3)


def scored(text: str, problem: Problem, setting: Setting, *, is_at_limit: bool = False) -> dict[str, Any]:
    """The part of a row that a written line determines; ``is_at_limit``: did the budget of tokens end it?"""
    read = read_line(text, setting.spec())
    row: dict[str, Any] = {"line": text.partition("\n")[0], "group": problem.group, "wrong_end": read.has_wrong_end}
    row["error"] = "cut" if read.is_open and is_at_limit else read.error
    name = "" if read.call is None else read.call.name
    row["name"], row["right_name"] = name, name == problem.gold
    if problem.call:
        gold = parse_text(problem.call, setting.spec())[0]
        row["right_call"] = read.call is not None and _same(read.call, gold)
    if problem.answer is not None:
        row["right_answer"] = read.call is not None and is_near(run_call(read.call, setting.spec()), problem.answer)
    return row


def _same(call: Call, gold: Call) -> bool:
    return call.name == gold.name and list(call.arguments.values()) == list(gold.arguments.values())
