"""FuncQA (of ToolkenGPT, which ToolDec uses): 60 questions of one call and 68 of several, over 13 arithmetic tools.

Examples of one call are out of the training file, one for each tool; of several calls there are none in it, so those are our own. A gold
call that is no call (an expression in place of a number) leaves its problem without ``call``; its answer still counts.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import guided
from benchmarks.tooldec.arithmetic import SEEN, TOOLS, written_problems
from benchmarks.tooldec.problems import Problem, Setting, lines, prompt_of
from guided.calls.parse import parse_text

__all__ = ["chains", "one_call", "training"]

_CALL = re.compile(r"-?\s*<(\w+)>\s*\((.*?)\)")
# Examples of several calls, with results as the tools give them.
_CHAINS = (
    lines(
        ("Question", "A printer prints 45 pages a minute. How many hours does it take to print 8100 pages?"),
        ("Tool", "divide(8100, 45) = 180"),
        ("Tool", "divide(180, 60) = 3"),
        ("Answer", "3"),
    ),
    lines(
        ("Question", "A cube has a volume of 729. What is the area of one of its faces, if the side is 9?"),
        ("Tool", "power(9, 2) = 81"),
        ("Answer", "81"),
    ),
    lines(
        ("Question", "A team of 3 is chosen from 5 men and 7 women. How many teams are possible?"),
        ("Tool", "add(5, 7) = 12"),
        ("Tool", "choose(12, 3) = 220"),
        ("Answer", "220"),
    ),
    lines(
        (
            "Question",
            "Two lights blink every 12 and 18 seconds. How often do they blink together in an hour of 3600 seconds?",
        ),
        ("Tool", "lcm(12, 18) = 36"),
        ("Tool", "divide(3600, 36) = 100"),
        ("Answer", "100"),
    ),
    lines(
        ("Question", "What is the diagonal of a rectangle with sides of 5 and 12?"),
        ("Tool", "power(5, 2) = 25"),
        ("Tool", "power(12, 2) = 144"),
        ("Tool", "add(25, 144) = 169"),
        ("Tool", "sqrt(169) = 13"),
        ("Answer", "13"),
    ),
)


def one_call(folder: Path | None, *, seen_only: bool, per_tool: int = 1) -> Setting:
    """Questions of one call; ``seen_only``: examples of four tools only, three for each."""
    shown = SEEN if seen_only else tuple(TOOLS)
    blocks = _examples(folder, shown, 3 if seen_only else per_tool)
    name = "one call, 4 tools shown" if seen_only else "one call"
    spec = Setting("", TOOLS, ()).spec()
    problems = []
    for number, (question, tool, call, answer) in enumerate(_questions(folder)):
        group = "seen" if tool in SEEN or not seen_only else "unseen"
        prompt = prompt_of(blocks, question)
        problems.append(Problem(f"{number}", prompt, tool, _checked(call, spec), answer, group))
    # Why interleaved: a run that is stopped early has asked for all tools.
    order = sorted(range(len(problems)), key=lambda place: (_rank(problems, place), place))
    return Setting(name, TOOLS, tuple(problems[place] for place in order))


def chains(folder: Path | None) -> Setting:
    """Questions of several calls; a prompt ends after the question."""
    blocks = list(_CHAINS)
    problems = []
    for number, (question, tools, answer) in enumerate(_chain_questions(folder)):
        prompt = "\n\n".join([*blocks, f"Question: {question}\n"])
        problems.append(Problem(f"{number}", prompt, " ".join(tools), "", answer))
    return Setting("several calls", TOOLS, tuple(problems), max_tokens=96)


def training(folder: Path | None) -> list[dict[str, Any]]:
    """Texts with the places of their calls, as the training file has them; of our own without the data."""
    if folder is not None:
        found: list[dict[str, Any]] = _read(folder / "train.json")
        return found
    return [
        {
            "text": f"Q: {question}\nA: The answer is {call}={answer:g}.",
            "tar_eq": [f"<{tool}>{call[len(tool) :]}={answer:g}<eoe>"],
            "tar_number": [f"{answer:g}"],
        }
        for question, tool, call, answer in written_problems(130, seed=3)
    ]


def _examples(folder: Path | None, tools: Iterable[str], each: int) -> list[str]:
    """Blocks of the training file, the shortest questions of each tool, tools in turn."""
    if folder is None:
        known = [(question, tool, call) for question, tool, call, _ in written_problems(13 * 4, seed=1)]
    else:
        known = []
        for item in _read(folder / "train.json"):
            question = item["text"].partition("\nA:")[0].removeprefix("Q:").strip()
            if item["tar_eq"] and "\n" not in question and (found := _CALL.match(item["tar_eq"][0])):
                known.append((question, found[1], _spaced(found[1], found[2])))
    known.sort(key=lambda item: len(item[0]))
    spec = Setting("", TOOLS, ()).spec()
    by_tool = {tool: [item for item in known if item[1] == tool and _checked(item[2], spec)] for tool in tools}
    chosen = [items[place] for place in range(each) for items in by_tool.values()]
    return [lines(("Question", question), ("Tool", call)) for question, _, call in chosen]


def _questions(folder: Path | None) -> list[tuple[str, str, str, float]]:
    if folder is None:
        return written_problems(26, seed=2)
    found = []
    for item in _read(folder / "funcqa_oh.json"):
        match = _CALL.match(item["func"])
        assert match is not None, item["func"]
        call = _spaced(match[1], match[2])
        found.append((item["question"].strip(), match[1], call, float(item["answer"])))
    return found


def _chain_questions(folder: Path | None) -> list[tuple[str, list[str], float]]:
    if folder is None:
        own = written_problems(26, seed=4)
        return [(f"{question} And twice that?", [tool, "multiply"], 2 * answer) for question, tool, _, answer in own]
    found = []
    for item in _read(folder / "funcqa_mh.json"):
        tools = [match[1] for call in item["calculation"] if (match := _CALL.match(call.strip()))]
        found.append((item["question"].strip(), tools, float(str(item["answer"]).replace(",", ""))))
    return found


def _rank(problems: list[Problem], place: int) -> int:
    """How many problems of the same tool come before."""
    return sum(problem.gold == problems[place].gold for problem in problems[:place])


def _spaced(name: str, arguments: str) -> str:
    return f"{name}({', '.join(part.strip() for part in arguments.split(','))})"


def _checked(call: str, spec: guided.Tools) -> str:
    try:
        parse_text(call, spec)
    except guided.CallError:
        return ""
    return call


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
