"""``guided run``."""

import json
import re
from pathlib import Path

import pytest

from guided.testing import scripted
from tests.cli.programs import call, errors_of, reply

PROMPT = "The capital of France is"


@pytest.mark.model
def test_writes_a_text_that_the_pattern_matches() -> None:
    done = call("run", "--regex", r" [A-Z][a-z]{2,8}\.", PROMPT)
    assert done.exit_code == 0
    assert done.stdout == " Paris.\n"


@pytest.mark.model
def test_writes_one_of_the_choices() -> None:
    done = call("run", "--choice", "negative", "--choice", "positive", "Review: I loved it!\nSentiment: ")
    assert done.stdout == "positive\n"


@pytest.mark.model
def test_an_index_file_for_the_default_model(tmp_path: Path) -> None:
    assert call("compile", "--regex", r" [A-Z][a-z]{2,8}\.", "-o", str(tmp_path)).exit_code == 0
    assert call("run", str(tmp_path / "regex.index"), PROMPT).stdout == " Paris.\n"


@pytest.mark.model
def test_reads_the_prompt_from_standard_input() -> None:
    assert call("run", "--regex", r" [A-Z][a-z]{2,8}\.", "-", stdin=PROMPT.encode()).stdout == " Paris.\n"


@pytest.mark.model
def test_chat_goes_through_the_template() -> None:
    arguments = ["--regex", r"[A-Z][A-Za-z ,]{5,60}\.", "Which city is the capital of France?"]
    assert call("run", "--chat", *arguments).stdout == "The capital of France is Paris.\n"
    assert call("run", *arguments).stdout != "The capital of France is Paris.\n"


@pytest.mark.model
def test_json() -> None:
    found = reply("run", "--regex", "[ab]{3}", "a", "--max-tokens", "3", "--temperature", "1", "--seed", "1")
    assert re.fullmatch("[ab]{3}", found["text"])
    assert found["value"] == found["text"]
    assert found["finish_reason"] in ("stop", "length")
    assert 1 <= len(found["tokens"]) <= 3
    assert found == reply("run", "--regex", "[ab]{3}", "a", "--max-tokens", "3", "--temperature", "1", "--seed", "1")


@pytest.mark.parametrize(("constraint", "calls"), [("--tools=guided.cli.demo_tools", []), ("--regex=.*", None)])
def test_a_text_of_tools_has_its_calls_though_there_are_none(
    constraint: str, calls: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("guided.cli.run.load_model", lambda *_: scripted("Hello"))
    assert reply("run", constraint, "Hi").get("calls") == calls


@pytest.mark.model
def test_log_probabilities() -> None:
    found = reply("run", "--regex", "[ab]{3}", "a", "--logprobs", "2", "--repetition-penalty", "1.3")
    assert [one["token"] for one in found["logprobs"]] == found["tokens"]
    assert "".join(one["data"] for one in found["logprobs"]) == found["text"]
    assert [len(one["top"]) for one in found["logprobs"]] == [2] * len(found["tokens"])
    assert all(one["logprob"] <= one["top"][0]["logprob"] < 0 for one in found["logprobs"])


@pytest.mark.model
def test_retries(tmp_path: Path) -> None:
    source = """
from typing import Annotated
from pydantic import AfterValidator

tried = []

def other(value: int) -> int:
    tried.append(value)
    if len(tried) < 3:
        raise ValueError("another\\x1b number, please")
    return value

Other = Annotated[int, AfterValidator(other)]
"""
    (tmp_path / "types_of_run.py").write_text(source)
    arguments = ["run", "--json-schema", f"{tmp_path / 'types_of_run.py'}:Other", "Number: ", "--max-tokens", "3"]
    failed = call(*arguments)
    assert failed.exit_code == 2
    assert "another" in failed.stderr
    done = call(*arguments, "--retries", "4", "--temperature", "1", "--seed", "1", "--stream")
    assert done.exit_code == 0, done.output
    assert "\x1b" not in done.stderr
    refused = done.stderr.count("refused, generating again: the value is invalid: Value error, another\\x1b number")
    assert 1 <= refused <= done.stderr.count("refused, generating again: ") == done.stdout.count("\n") - 1


@pytest.mark.model
def test_stream() -> None:
    arguments = ["run", "--regex", r" [A-Z][a-z]{2,8}, [a-z ]{10,20}\.", PROMPT, "--stream"]
    text = call(*arguments).stdout
    events = [json.loads(line) for line in call(*arguments, "--json").stdout.splitlines()]
    assert [event["event"] for event in events] == ["text"] * (len(events) - 1) + ["done"]
    assert "".join(event["text"] for event in events[:-1]) + "\n" == text
    assert events[-1]["result"]["text"] + "\n" == text


@pytest.mark.model
def test_tools_are_called_and_their_results_are_in_the_text() -> None:
    arguments = ["run", "--tools", "guided.cli.demo_tools", "--format", "tooldec", "--few-shot", "How is Rome today?"]
    found = reply(*arguments)
    (call_,) = found["calls"]
    assert call_["name"] in ("get_weather", "send_message")
    assert call_["error"] is None
    assert f"{call_['result']}\n" in found["text"]
    assert "\n\n" not in found["text"]


@pytest.mark.model
def test_a_call_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def add(a: int, b: int) -> int:\n    return a + b\n")
    arguments = ["--tools", str(tmp_path / "tools.py"), "--tool-choice", "required", "--chat", "What is 12 plus 34?"]
    found = reply("run", *arguments)
    assert found["value"][0]["arguments"] == {"a": 12, "b": 34}
    assert found["value"][0]["result"] == 46
    written = '{"name": "add", "arguments": {"a": 12, "b": 34}}\nadd -> 46\n'
    assert call("run", *arguments).stdout == written
    assert call("run", *arguments, "--stream").stdout == written
    events = [json.loads(line)["event"] for line in call("run", *arguments, "--stream", "--json").stdout.splitlines()]
    assert events == ["toolcallstarted", "toolargument", "toolargument", "toolcall", "toolresult", "done"]


@pytest.mark.model
def test_a_budget_below_the_shortest_text() -> None:
    message = errors_of("run", "--regex", "x{30}y", PROMPT, "--max-tokens", "2")
    assert re.match(r"Error: max_tokens: \d+ needed, 2 allowed", message)


def test_mistakes_are_found_before_the_model_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    import guided.integrations.load

    monkeypatch.setattr(guided.integrations.load, "load", None)
    assert errors_of("run", PROMPT).startswith("Error: no constraint given")
    assert errors_of("run", PROMPT, "--regex", "a", "--choice", "b").startswith("Error: --regex and --choice exclude")
    assert errors_of("run", PROMPT, "--regex", "(").startswith("Error: missing )")
    assert errors_of("run", PROMPT, "--choice", "a", "--choice", "a").startswith("Error: duplicate option 'a'")
    assert errors_of("run", PROMPT, "--regex", "a", "--few-shot").startswith("Error: --few-shot needs --tools")
    tools = ["run", PROMPT, "--tools", "guided.cli.demo_tools"]
    assert errors_of(*tools, "--few-shot", "--chat").startswith("Error: --few-shot and --chat exclude each other")
    assert errors_of(*tools, "--few-shot", "--tool-choice", "required").startswith("Error: examples need running text")
    regex = ["run", PROMPT, "--regex", "a"]
    assert errors_of(*regex, "--temperature", "-1").startswith(
        "Error: temperature must be a finite number of at least 0"
    )
    assert errors_of(*regex, "--temperature", "nan").startswith("Error: temperature must be a finite number")
    assert errors_of(*regex, "--top-k", "0").startswith("Error: top_k must be at least 1, not 0")
    assert errors_of(*regex, "--top-p", "2").startswith("Error: top_p must be above 0 and at most 1")
    assert errors_of(*regex, "--min-p", "2").startswith("Error: min_p must be from 0 to 1")
    assert errors_of(*regex, "--max-tokens", "0").startswith("Error: max_tokens must be at least 1")
    assert errors_of(*regex, "--repetition-penalty", "0").startswith("Error: repetition_penalty must be a finite")
    assert errors_of(*regex, "--logprobs", "-1").startswith("Error: logprobs must be at least 0")
    assert errors_of(*regex, "--retries", "-1").startswith("Error: retries must be at least 0")
    assert errors_of(*regex, "--seed", "-1").startswith("Error: seed must be at least 0")
    assert errors_of(*regex, "--stop", "").startswith("Error: stop[0] is empty")


def test_a_model_that_is_not_there() -> None:
    assert errors_of("run", PROMPT, "--regex", "a", "--model", "/none") == "Error: no such file or folder: /none\n"


@pytest.mark.model
def test_a_budget_that_is_too_small_is_told() -> None:
    arguments = ["run", "--regex", " [A-Z][a-z]{2,20}( [a-z]+){9}", PROMPT, "--max-tokens", "14"]
    done = call(*arguments)
    assert done.exit_code == 0
    assert "note: --max-tokens is too small for what the model wanted to write; " in done.stderr
    found = json.loads(call(*arguments, "--json").stdout)
    assert found["finish_reason"] == "length"
    assert 0 <= found["steered"] <= len(found["tokens"])
    refused = call(*arguments, "--on-budget", "raise")
    assert refused.exit_code == 2
    assert "the text does not fit max_tokens" in refused.stderr
    cut = json.loads(call(*arguments, "--on-budget", "truncate", "--json").stdout)
    assert cut["steered"] == len(cut["tokens"]) == 14
