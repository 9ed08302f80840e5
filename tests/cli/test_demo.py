"""``guided demo``: its tools, its judge, and one run."""

import inspect
import json

import pytest

from guided.calls.prompts import few_shot
from guided.calls.rendering import render_call
from guided.calls.running import run
from guided.calls.spec import Tools
from guided.cli.demo_questions import QUESTIONS, Question
from guided.cli.demo_tools import PLAIN, TOOLS
from guided.cli.judge import judge
from tests.calls.parsing import parse_call
from tests.cli.programs import call, errors_of

SPEC = Tools(TOOLS, format="tooldec")
WEATHER = QUESTIONS[0]
PLAIN_QUESTION = Question("What do bees make?", None, {})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_examples_have_the_results_of_their_tools(tool) -> None:
    (example,) = tool.examples
    text = render_call(tool.name, example.call, SPEC.argument_lists[tool.name], SPEC.format)
    done = run(parse_call(text, TOOLS, "tooldec"), tool)
    assert done.error is None
    assert done.result == example.result


def test_the_prompt_shows_every_tool_once_and_ends_with_the_question() -> None:
    prompt = few_shot(SPEC, "Who am I?", PLAIN)
    assert all(prompt.count(f"<T>{tool.name}(") == 1 for tool in TOOLS)
    assert prompt.count("\n\nQ: ") == len(TOOLS) + len(PLAIN)
    assert prompt.endswith("\n\nQ: Who am I?\nA:")


def test_questions_are_about_tools_that_there_are_and_can_be_answered() -> None:
    tools = {tool.name: tool for tool in TOOLS}
    assert len(QUESTIONS) == len({question.text for question in QUESTIONS}) == 25
    asked = [question for question in QUESTIONS if question.tool]
    assert len(asked) == 24
    assert {question.tool for question in asked} == set(tools)
    for question in asked:
        text = render_call(question.tool, question.arguments, SPEC.argument_lists[question.tool], SPEC.format)
        read = parse_call(text, TOOLS, "tooldec")
        assert read.arguments == question.arguments
        assert isinstance(run(read, tools[question.tool]).result, str)
        assert judge(f" <T>{text} = x\n", question, SPEC).right_call


def test_questions_are_not_examples() -> None:
    shown = few_shot(SPEC, "", PLAIN)
    assert not any(question.text in shown for question in QUESTIONS)


@pytest.mark.parametrize(
    ("text", "verdict", "right_tool", "right_call"),
    [
        (' <T>get_weather(city="Berlin", day="tomorrow") = x', "the right call", True, True),
        (' <T>get_weather(city="BERLIN.", day="tomorrow") = x', "the right call", True, True),
        (' <T>get_weather(city="Bern", day="tomorrow") = x', "a valid call with a wrong value", True, False),
        (' <T>play_music(artist="Berlin") = x', "a valid call of the wrong tool", False, False),
        (" It will.", "no call", False, False),
        (
            ' <T>get_weather(city="Berlin") = x',
            "tool error (argument): get_weather is missing its argument 'day'",
            True,
            False,
        ),
        (
            ' <T>get_weather(city="Berlin", day="now") = x',
            'tool error (argument): now: argument \'day\' must be "today" | "tomorrow"; this text is not',
            True,
            False,
        ),
        (
            " <T>weather_in(city) = x",
            "tool error (name): weather_in: no tool name starts with this",
            False,
            False,
        ),
        (' <T>get_weather(city="Berlin", day="tom', "tool error (syntax): the text ends inside a call", True, False),
        (
            ' <T>get_weather(city="Berlin", day="tomorrow") = x <T>nonsense',
            "the right call",
            True,
            True,
        ),
    ],
)
def test_the_judge(text: str, verdict: str, right_tool: bool, right_call: bool) -> None:
    found = judge(text, WEATHER, SPEC)
    assert (str(found), found.right_tool, found.right_call) == (verdict, right_tool, right_call)
    assert (found.error is not None) == verdict.startswith("tool error")


def test_the_judge_of_a_question_that_needs_no_tool() -> None:
    assert str(judge(" Honey.", PLAIN_QUESTION, SPEC)) == "no call, and none is needed"
    assert judge(" Honey.", PLAIN_QUESTION, SPEC).right_call
    found = judge(' <T>play_music(artist="bees") = x', PLAIN_QUESTION, SPEC)
    assert (str(found), found.right_tool) == ("a valid call of the wrong tool", False)


@pytest.mark.model
def test_a_run() -> None:
    done = call("demo", "--questions", "1")
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert all(f"\n    {tool.name}(" in done.stdout for tool in TOOLS)
    blocks = done.stdout.split("\nQ: ")[1:]
    assert [block.partition("\n")[0] for block in blocks] == [WEATHER.text]
    guided = blocks[0].partition("\n  guided ")[2].split("\n            ")
    assert guided[0].strip() == '<T>get_weather(city="Berlin", day="tomorrow") = [sunny, 21 C]'
    assert "\n    tool errors" in done.stdout
    assert "It does not repair wrong values" in done.stdout


@pytest.mark.model
def test_a_run_as_data() -> None:
    done = call("demo", "--questions", "2", "--json")
    *answers, last = map(json.loads, done.stdout.splitlines())
    assert [answer["question"] for answer in answers] == [question.text for question in QUESTIONS[:2]]
    assert all(answer["guided"]["error"] is None for answer in answers)
    assert answers[0]["guided"]["call"] == {"name": "get_weather", "arguments": {"city": "Berlin", "day": "tomorrow"}}
    assert last["totals"]["guided"]["questions"] == 2
    assert last["totals"]["guided"]["tool_errors"] == 0
    for arm in ("unguided", "guided"):
        verdicts = [answer[arm] for answer in answers]
        for key in ("right_tool", "right_call"):
            assert last["totals"][arm][key] == sum(verdict[key] for verdict in verdicts)


def test_signatures_are_those_of_the_functions() -> None:
    assert all(inspect.isfunction(tool.run) for tool in TOOLS)


def test_errors() -> None:
    assert "--questions" in errors_of("demo", "--questions", "0")
    assert errors_of("demo", "--model", "/none") == "Error: no such file or folder: /none\n"
