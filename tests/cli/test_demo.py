"""``guided demo``: its tools, its judge, and one run."""

import inspect
import json

import pytest

from guided.calls.prompts import few_shot
from guided.calls.rendering import render_call
from guided.calls.running import run
from guided.calls.spec import Tools
from guided.cli.demo import judge
from guided.cli.demo_questions import QUESTIONS, Question
from guided.cli.demo_tools import PLAIN, TOOLS
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
        assert judge(f" <T>{text} = x\n", question, SPEC) == "the right call"


def test_questions_are_not_examples() -> None:
    shown = few_shot(SPEC, "", PLAIN)
    assert not any(question.text in shown for question in QUESTIONS)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (' <T>get_weather(city="Berlin", day="tomorrow") = x', "the right call"),
        (' <T>get_weather(city="BERLIN.", day="tomorrow") = x', "the right call"),
        (' <T>get_weather(city="Bern", day="tomorrow") = x', "a valid call with a wrong value"),
        (' <T>play_music(artist="Berlin") = x', "a valid call of the wrong tool"),
        (" It will.", "no call"),
        (' <T>get_weather(city="Berlin") = x', "tool error (argument): get_weather is missing its argument 'day'"),
        (
            ' <T>get_weather(city="Berlin", day="now") = x',
            'tool error (argument): argument \'day\' must be "today" | "tomorrow"; this text is not',
        ),
        (" <T>weather_in(city) = x", "tool error (name): no tool name starts with this"),
        (' <T>get_weather(city="Berlin", day="tom', "tool error (syntax): the text ends inside a call"),
        (' <T>get_weather(city="Berlin", day="tomorrow") = x <T>nonsense', "the right call"),
    ],
)
def test_the_judge(text: str, verdict: str) -> None:
    assert judge(text, WEATHER, SPEC) == verdict


def test_the_judge_of_a_question_that_needs_no_tool() -> None:
    assert judge(" Honey.", PLAIN_QUESTION, SPEC) == "no call, and none is needed"
    assert judge(' <T>play_music(artist="bees") = x', PLAIN_QUESTION, SPEC) == "a valid call of the wrong tool"


@pytest.mark.model
def test_a_run() -> None:
    done = call("demo")
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert all(f"\n    {tool.name}(" in done.stdout for tool in TOOLS)
    blocks = done.stdout.split("\nQ: ")[1:]
    assert [block.partition("\n")[0] for block in blocks] == [question.text for question in QUESTIONS[:5]]
    guided = blocks[0].partition("\n  guided ")[2].split("\n            ")
    assert guided[0].strip() == '<T>get_weather(city="Berlin", day="tomorrow") = sunny, 21 C'
    assert "\n    tool errors" in done.stdout
    assert "It does not repair wrong values" in done.stdout


@pytest.mark.model
def test_a_run_as_data() -> None:
    done = call("demo", "--json")
    *answers, last = map(json.loads, done.stdout.splitlines())
    assert [answer["question"] for answer in answers] == [question.text for question in QUESTIONS[:5]]
    assert answers[0]["guided"]["verdict"] == "the right call"
    assert last["totals"]["guided"]["tool errors"] == 0
    for arm in ("unguided", "guided"):
        verdicts = [answer[arm]["verdict"] for answer in answers]
        n_right = sum(verdict in ("the right call", "no call, and none is needed") for verdict in verdicts)
        assert last["totals"][arm]["right"] == n_right


def test_signatures_are_those_of_the_functions() -> None:
    assert all(inspect.isfunction(tool.run) for tool in TOOLS)


def test_errors() -> None:
    assert errors_of("demo", "--model", "/none") == "Error: no such file or folder: /none\n"
