"""What users of other libraries guess: the call is right, or the error says which call is."""

import re
import warnings
from collections.abc import Iterable
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import guided
from guided.keywords import _elsewhere
from tests.generate.models import greedy_text_model


class City(BaseModel):
    name: str


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def balance(user: guided.Context[str]) -> str:
    """The balance of the user."""
    return f"{user}: 10"


MODEL = greedy_text_model('{"name":"Rome"}')
ROME = City(name="Rome")
NAMES: dict[str, Any] = {
    "guided": guided,
    "model": MODEL,
    "generator": guided.generator(MODEL, City),
    "result": guided.generator(MODEL, City)("p"),
    "chat": guided.Conversation(guided.generator(guided.testing.scripted("hello"), None)),
    "yes": greedy_text_model("yes"),
    "cities": greedy_text_model('[{"name":"Rome"}]'),
    "pays": guided.testing.scripted('{"name": "balance", "arguments": {}}'),
    "sums": guided.testing.scripted('{"name": "add", "arguments": {"a": 1, "b": 2}}'),
    "City": City,
    "Iterable": Iterable,
    "Literal": Literal,
    "add": add,
    "balance": balance,
}
# What users write; the value that it has, or a text that begins with `here`: what the error says.
OUTLINES = [
    ("guided.generator(model, City)('p').value", ROME),
    ("guided.generator(yes, Literal['yes', 'no'])('p').value", "yes"),
    ("guided.generator(yes, ['yes', 'no'])('p', max_new_tokens=5).value", "yes"),
    ("guided.generator(yes, guided.Regex('y..'))('p', seed=1).value", "yes"),
    ("generator('p', temperature=0.0, top_p=1.0).value", ROME),
    ("[result.value for result in generator.batch(['p', 'q'])]", [ROME, ROME]),
    ("list(generator.stream('p'))[-1].result.value", ROME),
    ("guided.JsonSchema('{\"type\": \"integer\"}').read('1')", 1),
    ("model('p', City)", "here: guided.generator(model, constraint)(prompt)"),
    ("model('p', Literal['yes', 'no'], max_new_tokens=5)", "here: guided.generator(model, constraint)(prompt)"),
    ("guided.Generator(model, City)", "guided.generator(model, constraint) takes any constraint"),
    ("guided.from_transformers(1, 2)", "here: guided.load(path_or_name), or guided.Model(hf_model, hf_tokenizer)"),
    ("guided.from_llamacpp(1)", "here: guided.integrations.llama_cpp.LlamaCpp(llama)"),
    ("guided.from_vllm(1)", "here: the server takes guided as its backend"),
    ("guided.models.transformers('x')", "here: guided.load(path_or_name)"),
    ("guided.generate.json(model, City)", "here: guided.generator(model, constraint)"),
    ("guided.generate.regex(model, 'a+')", "here: guided.generator(model, constraint)"),
    ("guided.types.email", "here: a type of Python"),
    ("guided.CFG('start: \"a\"')", "here: guided.Grammar(text)"),
    ("guided.json_schema('{}')", "here: guided.JsonSchema(schema)"),
    ("guided.either('a', 'b')", "here: a + (b | c): alternatives are written with |"),
    ("guided.optional('a')", "here: guided.Maybe(part)"),
    ("guided.at_least(2, 'a')", "here: guided.Repeat(part, min, max)"),
    ("guided.Template.from_string('x')", "here: a str, or a list of messages"),
    ("guided.Chat([])", "here: a str, or a list of messages"),
    ("guided.samplers.multinomial()", "here: options of a call: generator(prompt, temperature=...)"),
    ("guided.generator(model, output_type=City)", "here: guided.generator(model, City)"),
    ("guided.generator(model, City, backend='llguidance')", "here: any model takes any constraint"),
    ("generator('p', rng=1)", "here: seed"),
    ("generator(['p', 'q'])", "several prompts are for batch and map"),
    ("generator('p', sampling_params=1)", "here: max_tokens=..., temperature=... and others"),
    ("guided.Guide(City)", "guided.compile(spec, vocabulary).guide(), not of the class City"),
]
INSTRUCTOR = [
    ("guided.generator(model, City)('p').value.name", "Rome"),
    ("guided.generator(cities, list[City])('p').value", [ROME]),
    ("guided.generator(cities, Iterable[City])('p').text", '[{"name":"Rome"}]'),
    ("[event.value for event in generator.stream('p', partial=True) if hasattr(event, 'value')][-1]", ROME),
    ("generator('p', retries=2).value", ROME),
    ("generator('p', temperature=0, max_tokens=50).value", ROME),
    ("guided.from_openai(1)", "here: a model of your own, since masks need logits: guided.load(path_or_name)"),
    ("guided.from_provider('openai/x')", "here: a model of your own"),
    ("guided.patch(1)", "here: a model of your own"),
    ("model.chat.completions.create(response_model=City)", "here: guided.generator(model, constraint)(prompt)"),
    ("model.create(response_model=City)", "here: guided.generator(model, constraint)(prompt)"),
    ("guided.generator(model, response_model=City)", "here: guided.generator(model, City)"),
    ("guided.json(model, response_model=City)", "here: guided.json(model, City)"),
    ("generator(messages=[])", "here: the prompt, which may be a list of messages"),
    ("generator('p', response_model=City)", "here: guided.generator(model, City)(prompt)"),
    ("generator('p', max_retries=2)", "did you mean 'retries'"),
    ("generator('p', validation_context={})", "here: context=..., for parameters of tools"),
    ("generator('p', stream=True)", "here: generator.stream(prompt) yields events"),
    ("generator('p', max_completion_tokens=4)", "here: max_tokens counts the generated tokens"),
    ("generator('p', n=2)", "here: generator.sample(prompt, n) draws several texts"),
    ("generator('p', model='x')", "here: guided.generator(model, constraint)(prompt)"),
    ("generator('p', tools=[add])", "here: guided.tools(model, [function], tool_choice=...)(prompt)"),
    ("generator.create('p')", "here: generator(prompt)"),
    ("generator.create_partial('p')", "here: generator.stream(prompt, partial=True)"),
    ("generator.create_iterable('p')", "here: guided.generator(model, list[City])"),
    ("generator.create_with_completion('p')", "here: generator(prompt)"),
    ("guided.Partial[City]", "here: generator.stream(prompt, partial=True)"),
    ("guided.Mode.JSON", "here: guided.generator(model, City): the mask is the only mode"),
    ("guided.llm_validator('x')", "here: validators of pydantic, and generator(prompt, retries=2)"),
    ("result.name", "the value is result.value"),
    ("result.model_dump()", "here: to_dict(), or value"),
    ("result.choices[0]", "here: text"),
]
PYDANTIC_AI = [
    ("guided.tools(sums, [add], tool_choice='required')('p').calls[0].result", 3),
    ("guided.tools(sums, add, tool_choice='add')('p').value[0].arguments", {"a": 1, "b": 2}),
    ("guided.tools(pays, [balance], tool_choice='required')('p', context='Ada').calls[0].result", "Ada: 10"),
    ("guided.generator(model, City | int)('p').value", ROME),
    ("guided.Tool(add, name='plus', description='x').name", "plus"),
    ("guided.testing.scripted('x').vocabulary.size", 257),
    ("chat('p', max_tokens=3).finish_reason", "length"),
    ("guided.Agent(model, output_type=City)", "here: guided.Conversation(guided.tools(model, [function]), system=...)"),
    ("generator.run_sync('p')", "here: generator(prompt)"),
    ("generator.run('p')", "here: generator(prompt)"),
    ("generator.run_stream('p')", "here: generator.stream(prompt)"),
    ("result.output", "here: value"),
    ("result.data", "here: value"),
    ("result.usage()", "here: len(result.tokens), and forward_passes"),
    ("result.all_messages()", "here: the attribute messages of a guided.Conversation"),
    ("generator('p', message_history=[])", "here: the prompt, which may be a list of messages"),
    ("generator('p', model_settings={})", "here: max_tokens=..., temperature=... and others"),
    ("generator('p', output_type=City)", "here: guided.generator(model, City)(prompt)"),
    ("generator('p', instructions='x')", "here: a message of role 'system' in the list of messages"),
    ("generator('p', deps=1)", "here: context=..., for parameters of tools that are a guided.Context[T]"),
    ("guided.tools(model, [add], deps_type=int)", "here: a parameter of the function that is a guided.Context[T]"),
    ("guided.tools(model, [add], output_type=City)", "here: guided.json(model, City): values need no tool"),
    ("guided.tools(model, [add], retries=2)", "here: the model reads the error of a call as its result"),
    ("guided.tools(model, [add], system_prompt='x')", "here: guided.Conversation(generator, system=...)"),
    ("guided.tools(model, [add], toolsets=[])", "did you mean 'tools'"),
    ("guided.RunContext[int]", "here: guided.Context[T]"),
    ("guided.Tool(add, takes_ctx=True)", "here: a parameter of the function that is a guided.Context[T]"),
    ("guided.tool(add)", "here: guided.tools(model, [function]): functions are tools"),
    ("guided.ModelRetry('x')", "here: an exception of the tool, which the model reads as the result of the call"),
    ("guided.Conversation(model)", "as guided.generator(model, None) returns it"),
    ("guided.Conversation(chat.generator, system_prompt='x')", "here: system"),
    ("guided.Conversation(chat.generator, message_history=[])", "did you mean 'messages'"),
    ("chat.run_sync('x')", "here: conversation(content)"),
    ("chat.all_messages()", "here: messages"),
    ("guided.ToolOutput(City)", "here: guided.generator(model, City): the mask is the only mode"),
    ("guided.TestModel()", "here: guided.testing.scripted(text)"),
    ("guided.generator(model, [City, int])", "alternatives of types and specs are written with |, as in City | int"),
    ("guided.load(model='gpt2')", "here: guided.load(path_or_name)"),
    ("generator.temprature", "has no attribute 'temprature'"),
]
GUESSES = [*OUTLINES, *INSTRUCTOR, *PYDANTIC_AI]


@pytest.mark.parametrize(("guess", "expected"), GUESSES, ids=[guess for guess, _ in GUESSES])
def test_a_guess_is_right_or_the_error_says_what_is(guess: str, expected: Any) -> None:
    try:
        value = eval(guess, dict(NAMES))
    except (TypeError, AttributeError, guided.ArgumentError) as error:
        said = str(error)
        assert isinstance(expected, str), said
        # A model says what stands for a call without the word.
        assert expected.removeprefix("here: ") in said
    else:
        assert value == expected


@pytest.mark.parametrize("guesses", [OUTLINES, INSTRUCTOR, PYDANTIC_AI])
def test_thirty_guesses_for_each_library(guesses: list[Any]) -> None:
    assert len({guess for guess, _ in guesses}) >= 30


def test_what_stands_for_names_of_other_libraries_exists() -> None:
    """Every name of the package that the advice has, and no name that the package has itself."""
    attributes, keywords = _elsewhere()["attributes"], _elsewhere()["keywords"]
    for owner, rows in attributes.items():
        for names, _ in rows:
            if owner == "guided":
                assert not {*names.split()} & {*guided.__all__}, names
    advice = [text for rows in attributes.values() for _, text in rows]
    for text in [*advice, *(text for _, _, text in keywords)]:
        for name in re.findall(r"guided\.([a-zA-Z_]+)", text):
            assert name in guided.__all__ or name == "integrations", text


def test_errors_of_properties_are_not_replaced() -> None:
    class Broken(guided.LanguageModel):
        encode = session = None  # type: ignore[assignment]

        @property
        def folder(self) -> str:
            raise AttributeError("the folder is gone")

    model = Broken(MODEL.vocabulary)
    with pytest.raises(AttributeError, match="the folder is gone"):
        _ = model.folder
    with pytest.raises(AttributeError, match="'Broken' object has no attribute 'foldr'; did you mean 'folder'"):
        _ = model.foldr  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(model, "_private")


def test_a_model_is_no_tool() -> None:
    with pytest.raises(TypeError, match=r"the model comes first, as in guided.generator\(model, City\)"):
        guided.compile(MODEL, MODEL.vocabulary)
    with pytest.raises(TypeError, match="the model comes first"):
        guided.generator(City, MODEL)  # type: ignore[call-overload]
