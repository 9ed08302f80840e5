"""Every kind of request of the OpenAI API, streaming and not: what is complete is exact."""

import json
import re
from typing import Any

import pytest

from benchmarks.serving_server import MODEL, Server
from tests.serving.calls import PERSON, TOOLS, as_schema, ask, is_valid, openai, refused
from tests.serving.test_load import a_schema

SUM = 'start: NUMBER ("+" NUMBER)~1..2\nNUMBER: /[0-9]{1,3}/\n'
# By name: options of a request, and what its whole text matches.
TEXTS: dict[str, tuple[dict[str, Any], str]] = {
    "regex": ({"structured": {"regex": r"\d{4}-(0[1-9]|1[0-2])"}}, r"[0-9]{4}-(0[1-9]|1[0-2])"),
    "choice": ({"structured": {"choice": ["yes", "no"]}}, "yes|no"),
    "grammar": ({"structured": {"grammar": SUM}}, r"[0-9]{1,3}(\+[0-9]{1,3}){1,2}"),
    "GBNF": ({"structured": {"grammar": 'root ::= "[" n ("," n){1,2} "]"\nn ::= [0-9]{1,2}'}}, r"\[[0-9]{1,2}(,[0-9]{1,2}){1,2}\]"),
    "llguidance's dialect": (
        {"structured": {"grammar": '%llguidance {}\nstart: "a" x\nx[suffix=";"]: /[0-9]{1,2}/'}},
        "a[0-9]{1,2};",
    ),
    "imported terminals": (
        {"structured": {"grammar": 'start: "n=" DIGIT\n%import common.DIGIT\n'}},
        "n=[0-9]",
    ),
    "tag with a schema": (
        {"structured": {"structural_tag": json.dumps({"format": {"type": "json_schema", "json_schema": {"enum": ["a", "b"]}}})}},
        '"[ab]"',
    ),
    "empty regex": ({"structured": {"regex": "(ab)?"}}, "(ab)?"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("stream", [False, True])
def test_the_text_matches(server: Server, name: str, stream: bool) -> None:
    options, pattern = TEXTS[name]
    text, reason = completed(server, "Answer.", stream, **options)
    assert reason == "stop"
    assert re.fullmatch(pattern, text)


@pytest.mark.parametrize("stream", [False, True])
def test_a_schema(server: Server, stream: bool) -> None:
    text, reason = completed(server, "Make a person as JSON.", stream, response_format=as_schema(PERSON))
    assert reason == "stop"
    assert is_valid(json.loads(text), PERSON)


@pytest.mark.parametrize("stream", [False, True])
def test_any_object(server: Server, stream: bool) -> None:
    messages = [
        {"role": "user", "content": "Write {}."},
        {"role": "assistant", "content": "An empty JSON object is {}"},
    ]
    text, reason = completed(server, messages, stream, response_format={"type": "json_object"}, max_tokens=60)
    assert text.startswith("{")
    assert reason == "length" or isinstance(json.loads(text), dict)


def completed(server: Server, messages: str | list[dict[str, Any]], stream: bool, **options: Any) -> tuple[str, str]:
    """The text of an answer, and why it ends."""
    answer = ask(server.client(), messages, stream=stream, **options)
    if not stream:
        return answer.choices[0].message.content or "", answer.choices[0].finish_reason
    text, reason = "", ""
    for chunk in answer:
        for choice in chunk.choices:
            text += choice.delta.content or ""
            reason = choice.finish_reason or reason
    return text, reason


@pytest.mark.parametrize("stream", [False, True])
def test_compact_json_by_request(server: Server, stream: bool) -> None:
    schema = {"type": "array", "items": {"type": "integer", "maximum": 9, "minimum": 0}, "minItems": 3, "maxItems": 3}
    text, _ = completed(server, "Digits", stream, structured={"json": schema, "disable_any_whitespace": True})
    assert re.fullmatch(r"\[[0-9],[0-9],[0-9]\]", text)


@pytest.mark.parametrize("stream", [False, True])
def test_closed_objects_by_request(server: Server, stream: bool) -> None:
    schema = {"type": "object", "properties": {"a": {"enum": [1]}}, "required": ["a"]}
    text, _ = completed(server, "An object", stream, structured={"json": schema, "disable_additional_properties": True})
    assert json.loads(text) == {"a": 1}


def test_several_streamed_answers(server: Server) -> None:
    texts = [""] * 3
    options = {"n": 3, "temperature": 1.5, "stream": True, "structured": {"regex": r"\d{4}-\d\d"}}
    for chunk in ask(server.client(), "A month?", **options):
        for choice in chunk.choices:
            texts[choice.index] += choice.delta.content or ""
    assert all(re.fullmatch("[0-9]{4}-[0-9]{2}", text) for text in texts)


def test_several_answers(server: Server) -> None:
    answer = ask(server.client(), "A month?", n=3, temperature=1.5, structured={"regex": r"\d{4}-\d\d"})
    assert len(answer.choices) == 3
    assert all(re.fullmatch("[0-9]{4}-[0-9]{2}", choice.message.content) for choice in answer.choices)


@pytest.mark.parametrize("stream", [False, True])
def test_log_probabilities(server: Server, stream: bool) -> None:
    answer = ask(
        server.client(), "A year?", logprobs=True, top_logprobs=3, structured={"regex": r"\d{4}"}, stream=stream
    )
    text, found = "", []
    for choice in [one for chunk in (answer if stream else [answer]) for one in chunk.choices]:
        text += (choice.delta if stream else choice.message).content or ""
        found += choice.logprobs.content if choice.logprobs else []
    assert re.fullmatch("[0-9]{4}", text)
    assert "".join(token.token for token in found).startswith(text)
    assert all(len(token.top_logprobs) >= 3 for token in found)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("token", [30, 2])
def test_stop_tokens_are_allowed_after_complete_texts(server: Server, token: int, stream: bool) -> None:
    text, reason = completed(
        server, "Words", stream, extra_body={"stop_token_ids": [token]}, max_tokens=30,
        structured={"regex": "[a-z]{2,4}( [a-z]{2,4}){1,2}"},
    )  # fmt: skip
    assert reason == "stop"
    assert re.fullmatch("[a-z]{2,4}( [a-z]{2,4}){1,2}", text)


FORMAT = {
    "type": "sequence",
    "elements": [{"type": "const_string", "value": "So: "}, {"type": "json_schema", "json_schema": {"enum": ["a", "b"]}}],
}  # fmt: skip
OLDER = {
    "structures": [{"begin": "<person>", "schema": PERSON, "end": "</person>"}],
    "triggers": ["<person>"],
}  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
def test_a_structural_tag_as_the_format(server: Server, stream: bool) -> None:
    text, reason = completed(server, "Answer.", stream, response_format={"type": "structural_tag", "format": FORMAT})
    assert reason == "stop"
    assert re.fullmatch('So: "[ab]"', text)


@pytest.mark.parametrize("stream", [False, True])
def test_an_older_structural_tag_as_the_format(server: Server, stream: bool) -> None:
    """Text is free until the trigger, which the model copies from the conversation."""
    contents = ("Hi", "<person>x</person>", "<person>x</person>")
    messages = [{"role": role, "content": content} for content in contents for role in ("user", "assistant")][:-1]
    text, _ = completed(
        server, messages, stream, response_format={"type": "structural_tag", **OLDER},
        extra_body={"stop": ["</person>"], "include_stop_str_in_output": True},
    )  # fmt: skip
    (inner,) = re.findall("<person>(.*)</person>", text, re.DOTALL)
    assert is_valid(json.loads(inner), PERSON)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_raw_completions(server: Server, name: str, stream: bool) -> None:
    """Two prompts of one request; no chat template."""
    options, pattern = TEXTS[name]
    answer = server.client().completions.create(
        model=MODEL, prompt=["The answer is ", "Answer: "], max_tokens=80, temperature=0.0, stream=stream,
        extra_body={"structured_outputs": options["structured"]},
    )  # fmt: skip
    texts, reasons = ["", ""], ["", ""]
    for choice in [one for chunk in (answer if stream else [answer]) for one in chunk.choices]:
        texts[choice.index] += choice.text
        reasons[choice.index] = choice.finish_reason or reasons[choice.index]
    assert reasons == ["stop", "stop"]
    assert all(re.fullmatch(pattern, text) for text in texts)


@pytest.mark.parametrize("kind", ["json_schema", "structural_tag"])
def test_raw_completions_with_a_format(server: Server, kind: str) -> None:
    form = as_schema(PERSON) if kind == "json_schema" else {"type": kind, "format": FORMAT}
    answer = server.client().completions.create(
        model=MODEL, prompt="A person: ", max_tokens=80, temperature=0.0, extra_body={"response_format": form}
    )
    text = answer.choices[0].text
    assert answer.choices[0].finish_reason == "stop"
    assert is_valid(json.loads(text), PERSON) if kind == "json_schema" else re.fullmatch('So: "[ab]"', text)


@pytest.mark.parametrize("stream", [False, True])
def test_responses(server: Server, stream: bool) -> None:
    """The same constraints by /v1/responses."""

    def written(**options: Any) -> str:
        answer = server.client().responses.create(
            model=MODEL, input="Make a person as JSON.", max_output_tokens=80, temperature=0.0, stream=stream, **options
        )
        if not stream:
            return str(answer.output_text)
        return "".join(event.delta for event in answer if event.type == "response.output_text.delta")

    form = {"type": "json_schema", "name": "answer", "schema": PERSON, "strict": True}
    assert is_valid(json.loads(written(text={"format": form})), PERSON)
    assert re.fullmatch("[0-9]{4}", written(extra_body={"structured_outputs": {"regex": r"\d{4}"}}))
    if not stream:  # vLLM begins a stream before it checks the request, and then closes the connection
        with pytest.raises(openai.BadRequestError):
            written(text={"format": {**form, "schema": {"type": "text"}}})


def test_a_budget_cuts_the_text(server: Server) -> None:
    answer = ask(server.client(), "Letters", structured={"regex": "[a-z]{200}"}, max_tokens=5)
    assert answer.choices[0].finish_reason == "length"
    assert re.fullmatch("[a-z]+", answer.choices[0].message.content)


def calls(server: Server, messages: Any, stream: bool, **options: Any) -> list[dict[str, Any]]:
    """The tool calls of an answer, as messages have them."""
    options = {"tools": TOOLS, "max_tokens": 120, **options}
    answer = ask(server.client(), messages, stream=stream, **options)
    if not stream:
        return [call.model_dump() for call in answer.choices[0].message.tool_calls or []]
    found: dict[int, dict[str, Any]] = {}
    for chunk in answer:
        for choice in chunk.choices:
            for part in choice.delta.tool_calls or []:
                call = found.setdefault(
                    part.index, {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                )
                call["id"] += part.id or ""
                call["function"]["name"] += part.function.name or ""
                call["function"]["arguments"] += part.function.arguments or ""
    return list(found.values())


def arguments_of(call: dict[str, Any], *names: str) -> Any:
    """The arguments of a call of one of these tools, valid ones."""
    assert call["function"]["name"] in names
    by_name = {tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS}
    arguments = json.loads(call["function"]["arguments"])
    assert is_valid(arguments, by_name[call["function"]["name"]])
    return arguments


ADD = {"type": "function", "function": {"name": "add"}}


@pytest.mark.parametrize("stream", [False, True])
def test_required_tools(server: Server, stream: bool) -> None:
    (call,) = calls(
        server, "Weather in Oslo tomorrow?", stream, tool_choice="required", parallel_tool_calls=False
    )  # fmt: skip
    arguments_of(call, "get_weather", "add")


@pytest.mark.parametrize("stream", [False, True])
def test_a_named_tool(server: Server, stream: bool) -> None:
    found = calls(server, "What is 12 plus 30?", stream, tool_choice=ADD)
    assert found
    for call in found:
        arguments_of(call, "add")


def test_many_schemas_of_streamed_tools(server: Server) -> None:
    for number in range(8):
        schema = a_schema(300 + number)
        tool = {"type": "function", "function": {"name": "store", "strict": True, "parameters": schema}}
        (call,) = calls(
            server, "Store something.", stream=True, tools=[tool], parallel_tool_calls=False,
            tool_choice={"type": "function", "function": {"name": "store"}},
        )  # fmt: skip
        assert call["function"]["name"] == "store"
        assert is_valid(json.loads(call["function"]["arguments"]), schema)


@pytest.mark.parametrize("stream", [False, True])
def test_tools_where_the_model_wants_them(server: Server, stream: bool) -> None:
    """Without constraints the model copies the invalid call from the conversation; with them, the arguments are valid."""
    wrong = json.dumps({"name": "add", "arguments": {"a": 12, "b": "thirty"}})
    text = f"<tool_call>\n{wrong}\n</tool_call>"
    messages = [{"role": role, "content": content} for content in ("Hi", text, text) for role in ("user", "assistant")][
        :-1
    ]
    assert completed(server, messages, stream)[0] == text
    (call,) = calls(server, messages, stream, tool_choice="auto")
    assert arguments_of(call, "add")["a"] == 12


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", ["required", ADD], ids=["required", "named"])
def test_a_conversation_of_three_turns(server: Server, choice: Any, stream: bool) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "What is 12 plus 30?"}]
    for turn in range(3):
        (call,) = calls(server, messages, stream, tool_choice=choice, parallel_tool_calls=False)
        arguments = arguments_of(call, "add", *(["get_weather"] if choice == "required" else []))
        result = str(arguments["a"] + arguments["b"]) if "a" in arguments else "sunny"
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
        messages.append({"role": "user", "content": f"And {turn + 1} more?"})
    text, _ = completed(
        server, messages, stream, max_tokens=20,
        response_format=as_schema({"type": "integer", "maximum": 999, "minimum": 0}),
    )  # fmt: skip
    assert 0 <= json.loads(text) <= 999


def test_metrics(server: Server) -> None:
    """What the front end and the engine count is in the server's /metrics."""
    if server.backend != "guided":
        pytest.skip("guided's own")
    before = server.metrics()
    assert refused(server.client(), structured={"regex": "metrics("}).startswith("Error code: 400")
    for _ in range(2):
        ask(server.client(), "x", structured={"choice": ["metrics", "numbers"]})
    after = server.metrics()
    grown = {name: value - before.get(name, 0) for name, value in after.items() if name.startswith("guided_")}
    assert grown["guided_refused_requests_total"] == 1
    assert grown["guided_check_seconds_count"] == 2
    assert grown["guided_compile_seconds_count"] == 1
    assert grown["guided_index_hits_total"] == 1
    assert grown["guided_failed_requests_total"] == 0
    assert grown["guided_mask_rows_total"] >= 2
    assert grown["guided_mask_seconds_total"] > 0
