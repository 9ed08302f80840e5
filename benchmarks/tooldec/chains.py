"""Questions of several calls (E2): the model writes lines of calls, reads their results, and ends with a line ``Answer:``.

Guided arms are `guided.tools` over running text: text and calls are one automaton, and results are inserted by the generator. The others
are the same loop without masks: a call is what stands between ``Tool:`` and the first ``)`` or the end of its line. Where the acceptor
refuses it, *unconstrained* ends there, *backtrace* begins the call anew with the next most probable token, five at most, and
*edit ratio* renames it first. A call that the budget of tokens cut is told apart ("cut").
"""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.clock import timed
from benchmarks.tooldec.arms import GUIDED, SEARCHED, SELECTED, TRIES, Bench
from benchmarks.tooldec.fuzzy import MATCHES, renamed
from benchmarks.tooldec.problems import LINE, Problem, Setting
from benchmarks.tooldec.rows import Job
from benchmarks.tooldec.scoring import is_near, read_line, run_call
from benchmarks.tooldec.writing import Pen, pen
from guided.calls.reads import Call
from guided.calls.rendering import render_result
from guided.generate.sampler import Sampler

__all__ = ["ARMS", "chain_jobs"]

ARMS = ("unconstrained", "backtrace", "edit ratio", "guided")

_STOPS = ("\n\n", "Question:")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def chain_jobs(
    bench: Bench, experiment: str, setting: Setting, problem: Problem, arms: Sequence[str] = ARMS
) -> list[Job]:
    """One job per arm."""
    mark = setting.digest(bench.label, problem)
    return [
        Job((experiment, setting.name, arm, problem.name, 0), mark, partial(_measure, bench, setting, problem, arm))
        for arm in arms
    ]


def _measure(bench: Bench, setting: Setting, problem: Problem, arm: str) -> Mapping[str, Any]:
    is_guided = arm in GUIDED
    work = (
        partial(_guided, bench, setting, problem, arm)
        if is_guided
        else partial(_unguided, bench, setting, problem, arm)
    )
    (text, calls, error, passes), cpu, wall = timed(work)
    names = [call.name for call in calls]
    return {
        "line": text[:400],
        "error": error,
        "name": " ".join(names),
        "calls": len(calls),
        "right_name": " ".join(names) == problem.gold,
        "right_answer": _answer(text, calls, problem.answer),
        "passes": passes,
        "cpu_ms": round(cpu),
        "wall_ms": round(wall),
    }


_Chain = tuple[str, list[Call], str, int]


def _guided(bench: Bench, setting: Setting, problem: Problem, arm: str) -> _Chain:
    generator = bench.generator(setting, SELECTED.get(arm, "greedy"), "auto")
    result = generator(problem.prompt, max_tokens=setting.max_tokens, stop=_STOPS, seed=0, search=SEARCHED.get(arm))
    return result.text, list(result.value), _error_of(result.text, setting), result.forward_passes


def _error_of(text: str, setting: Setting) -> str:
    """The class of the first call in a text that the acceptor refuses: asked anew, so that guided arms are held to the same."""
    for piece in text.split(LINE.start)[1:]:
        call, _, _ = piece.partition(LINE.terminator.strip())
        if error := read_line(call, setting.spec()).error:
            return error
    return ""


def _unguided(bench: Bench, setting: Setting, problem: Problem, arm: str) -> _Chain:
    calls: list[Call] = []
    with pen(bench.model, problem.prompt, Sampler()) as writer:
        while not _is_over(writer, setting):
            writer.next()
            if LINE.start not in writer.text[_done(calls, writer.text) :]:
                continue
            call, error = _call(writer, setting, arm)
            if error:
                return writer.text, calls, error, writer.passes
            assert call is not None
            calls.append(call)
        return writer.text, calls, "", writer.passes


def _done(calls: list[Call], text: str) -> int:
    """Where the text goes on behind the calls that were run."""
    place = 0
    for _ in calls:
        place = text.index("\n", text.index(LINE.start, place)) + 1
    return place


def _is_over(writer: Pen, setting: Setting) -> bool:
    return writer.is_ended or writer.chosen >= setting.max_tokens or any(stop in writer.text for stop in _STOPS)


def _call(writer: Pen, setting: Setting, arm: str) -> tuple[Call | None, str]:
    """Write a call behind the trigger, and its result; or the class of its error."""
    begin, n_before, chosen = len(writer.tokens), len(writer.text), writer.chosen
    ranked = writer.ranked(TRIES) if arm == "backtrace" else []
    spec, read = setting.spec(), None
    for number in range(max(1, len(ranked))):
        if number:
            writer.back_to(begin, [ranked[number]])
            writer.chosen = chosen + 1
        line = _line(writer, n_before, setting)
        if arm in MATCHES:
            line = renamed(line, list(setting.tools), MATCHES[arm])
        read = read_line(line, spec)
        if read.call is not None:
            call = " " + line[: line.index(")") + 1].strip()
            result = render_result(Call(read.call.name, {}, (0, 0), run_call(read.call, spec)))
            tokens = writer.encode(call + LINE.terminator + LINE.result.replace("{result}", result))
            writer.back_to(begin, tokens)
            return read.call, ""
    assert read is not None
    return None, "cut" if read.is_open and writer.chosen >= setting.max_tokens else read.error


def _line(writer: Pen, n_before: int, setting: Setting) -> str:
    """What is written behind a place, up to the first parenthesis that closes or the end of the line."""
    while True:
        written = writer.text[n_before:]
        for place, character in enumerate(written):
            if character == ")":
                return written[: place + 1]
            if character == "\n":
                return written[:place]
        if writer.is_ended or writer.chosen >= setting.max_tokens:
            return written
        writer.next()


def _answer(text: str, calls: list[Call], answer: float | None) -> bool:
    """Is the number behind ``Answer:`` right, or without one the last result?"""
    _, said, rest = text.rpartition("Answer:")
    where = rest if said else text.rpartition(LINE.terminator)[2] if calls else ""
    found = _NUMBER.search(where.replace(",", ""))
    return found is not None and is_near(float(found[0]), answer)
