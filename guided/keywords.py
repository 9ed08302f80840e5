"""Arguments that would have no effect are refused: misspelled keywords, and options that a spec has of its own.

A TypeError names the function and the closest argument, or the options. For keywords and attributes of other libraries, the error says what
stands for them here.
"""

import difflib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

__all__ = [
    "attribute_elsewhere",
    "closest",
    "refuse_options_of",
    "suggest_attributes",
    "suggest_keywords",
    "suggest_keywords_of_class",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


# Keywords of other libraries, an argument of the functions for which a row holds, and what stands for the keywords there.
_KEYWORDS_ELSEWHERE = [
    ("do_sample", "temperature", "temperature=1 samples, 0 does not"),
    ("max_length max_completion_tokens max_output_tokens", "max_tokens", "max_tokens counts the generated tokens"),
    ("method", "search", "search='smc', 'rejection' or 'beam'"),
    ("n num_return_sequences", "max_tokens", "generator.sample(prompt, n) draws several texts"),
    ("num_beams", "search", "search=guided.Beam(width=...)"),
    ("partial", "max_tokens", "partial=True is for stream and stream_async of generators of JSON"),
    ("particles", "search", "search=guided.Smc(particles=...)"),
    ("attempts", "search", "search=guided.Rejection(attempts=...)"),
    ("resample", "search", "search=guided.Smc(resample=...)"),
    ("stop_strings stop_sequences stop_at", "stop", "stop"),
    ("top_logprobs", "logprobs", "logprobs"),
    ("rng random_seed random_state generator", "seed", "seed"),
    ("stream", "max_tokens", "generator.stream(prompt) yields events"),
    (
        "model_settings sampling_params sampler generation_config",
        "max_tokens",
        "max_tokens=..., temperature=... and others, each by itself",
    ),
    ("deps validation_context", "context", "context=..., for parameters of tools that are a guided.Context[T]"),
    ("system_prompt instructions", "system", "system"),
    (
        "system system_prompt instructions",
        "prompt",
        "a message of role 'system' in the list of messages, or guided.Conversation(generator, system=...)",
    ),
    ("messages message_history chat_history user_prompt", "prompt", "the prompt, which may be a list of messages"),
    ("model", "prompt", "guided.generator(model, constraint)(prompt)"),
    (
        "response_model output_type output_schema response_format schema json_schema regex choice grammar guided_json guided_regex",
        "prompt",
        "guided.generator(model, City)(prompt): a generator has one constraint",
    ),
    ("tools tool_choice toolsets", "prompt", "guided.tools(model, [function], tool_choice=...)(prompt)"),
    (
        "response_model output_type output_schema response_format schema json_schema spec",
        "constraint",
        "guided.generator(model, City)",
    ),
    ("tools", "constraint", "guided.tools(model, [function])"),
    (
        "backend sampler mode",
        "constraint",
        "any model takes any constraint, and generator(prompt, temperature=...) has the options of sampling",
    ),
    ("response_model output_type output_schema response_format json_schema", "schema", "guided.json(model, City)"),
    ("output_type result_type", "tools", "guided.json(model, City): values need no tool"),
    ("deps_type takes_ctx", "tools", "a parameter of the function that is a guided.Context[T]"),
    ("system_prompt instructions system", "tools", "guided.Conversation(generator, system=...)"),
    ("functions", "tools", "tools"),
    (
        "retries max_retries output_retries tool_retries",
        "tools",
        "the model reads the error of a call as its result, and can call again",
    ),
    ("takes_ctx", "definition", "a parameter of the function that is a guided.Context[T]"),
    ("model model_name model_path name pretrained_model_name_or_path", "path_or_name", "guided.load(path_or_name)"),
    ("any_whitespace", "whitespace", "whitespace='flexible' or 'compact'"),
    ("ensure_ascii", "escapes", "escapes='dumps' allows both spellings"),
    ("indent", "whitespace", "whitespace='pretty(2)'"),
    ("max_whitespace max_whitespace_cnt", "whitespace", "whitespace=4 allows up to 4 characters"),
    ("separators", "whitespace", "whitespace=(', ', ': ')"),
    ("whitespace_pattern", "whitespace", "whitespace=pattern"),
]
_MODELS = "guided.load(path_or_name), or guided.Model(hf_model, hf_tokenizer)"
_GENERATOR = "guided.generator(model, constraint)(prompt)"
# Attributes of other libraries by the module or class that they are looked for in, and what stands for them there.
_ATTRIBUTES_ELSEWHERE = {
    "guided": [
        ("from_transformers models Transformers from_pretrained AutoModel LLM", _MODELS),
        ("from_llamacpp LlamaCpp", "guided.integrations.llama_cpp.LlamaCpp(llama)"),
        ("from_vllm from_vllm_offline from_sglang", "the server takes guided as its backend (docs/serving.md)"),
        (
            "from_openai from_anthropic from_provider from_litellm patch Instructor OpenAI",
            f"a model of your own, since masks need logits: {_MODELS}",
        ),
        ("Agent", "guided.Conversation(guided.tools(model, [function]), system=...)"),
        ("generate", "guided.generator(model, constraint)"),
        ("types", "a type of Python, such as a pydantic model, or guided.Regex(pattern)"),
        ("CFG cfg Lark EBNF GBNF from_ebnf", "guided.Grammar(text)"),
        ("json_schema json_object", "guided.JsonSchema(schema)"),
        ("either any_of one_of", "a + (b | c): alternatives are written with |"),
        ("select", "guided.Choice(options)"),
        ("gen Text Free", "guided.FreeText(stop=...)"),
        ("optional Optional", "guided.Maybe(part)"),
        ("at_least at_most between exactly zero_or_more one_or_more repeat", "guided.Repeat(part, min, max)"),
        ("Template Chat inputs prompts", "a str, or a list of messages: the prompt of a generator"),
        (
            "samplers greedy multinomial beam_search SamplingParams ModelSettings",
            "options of a call: generator(prompt, temperature=...)",
        ),
        ("Partial", "generator.stream(prompt, partial=True)"),
        (
            "Mode ToolOutput NativeOutput PromptedOutput TextOutput",
            "guided.generator(model, City): the mask is the only mode",
        ),
        ("RunContext", "guided.Context[T]"),
        ("ModelRetry", "an exception of the tool, which the model reads as the result of the call"),
        ("tool function_tool FunctionTool", "guided.tools(model, [function]): functions are tools"),
        ("TestModel", "guided.testing.scripted(text)"),
        ("llm_validator field_validator", "validators of pydantic, and generator(prompt, retries=2)"),
        ("OpenAISchema BaseModel", "pydantic.BaseModel"),
        ("TokenizerInfo LLTokenizer Tokenizer", "guided.Vocabulary.from_tokenizer(tokenizer)"),
        ("GrammarCompiler compiler", "guided.compile(spec, vocabulary)"),
        ("GrammarMatcher LLMatcher TokenEnforcer", "guided.compile(spec, vocabulary).guide()"),
        ("JsonSchemaParser", "guided.JsonSchema(schema)"),
        ("RegexParser", "guided.Regex(pattern)"),
    ],
    "guided.generate": [
        ("json regex choice text cfg format fsm", "guided.generator(model, constraint)"),
    ],
    "LanguageModel": [
        (
            "generate chat create complete completions messages invoke predict run run_sync json regex choice stream batch",
            _GENERATOR,
        ),
    ],
    "Generator": [
        (
            "run run_sync generate create create_with_completion invoke complete predict send chat completions",
            "generator(prompt)",
        ),
        ("arun agenerate ainvoke acreate run_async", "await generator.generate_async(prompt)"),
        ("run_stream iter generate_stream", "generator.stream(prompt)"),
        ("astream run_stream_async", "generator.stream_async(prompt)"),
        ("create_partial stream_partial", "generator.stream(prompt, partial=True)"),
        ("create_iterable", "guided.generator(model, list[City])"),
        ("run_batch generate_batch abatch", "generator.batch(prompts)"),
        ("tool tool_plain register", "guided.tools(model, [function])"),
    ],
    "Conversation": [
        ("run run_sync send ask chat invoke create generate user", "conversation(content)"),
        ("run_stream", "conversation.stream(content)"),
        ("history all_messages new_messages message_history", "messages"),
    ],
    "Result": [
        ("output data parsed result object answer response", "value"),
        ("content message choices completion output_text raw", "text"),
        ("usage", "len(result.tokens), and forward_passes"),
        ("tool_calls", "calls, of the results of guided.tools"),
        ("all_messages new_messages messages history", "the attribute messages of a guided.Conversation"),
        ("model_dump model_dump_json dict json", "to_dict(), or value"),
    ],
}


def closest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` with the most similar known name, or what stands for a name of other libraries; empty without one."""
    known = set(known)
    for names, argument, advice in _KEYWORDS_ELSEWHERE:
        if argument in known and name in names.split():
            return f"; here: {advice}"
    return _similar(name, known)


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.6)
    return f"; did you mean {found[0]!r}?" if found else ""


def attribute_elsewhere(name: str, owner: str, known: Iterable[str]) -> str:
    """Return what `closest` returns, for an attribute of a module or class; private names have no advice."""
    if name.startswith("_"):
        return ""
    for names, advice in _ATTRIBUTES_ELSEWHERE[owner]:
        if name in names.split():
            return f"; here: {advice}"
    similar = _similar(name, (one for one in known if not one.startswith("_")))
    return similar or ("; the value is result.value" if owner == "Result" else "")


def suggest_attributes(cls: C) -> C:
    """Decorate a class so that an unknown attribute of its objects is refused with a suggestion; type checkers do not see it."""

    def refuse(self: object, name: str) -> Any:
        kind = type(self)
        if hasattr(kind, name):
            # A property or a slot that raises: its own error.
            return object.__getattribute__(self, name)
        advice = attribute_elsewhere(name, cls.__name__, dir(kind))
        raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}{advice}", name=name, obj=self)

    cls.__getattr__ = refuse  # type: ignore[attr-defined]
    return cls


def suggest_keywords(*options: type) -> Callable[[F], F]:
    """Decorate a function so that an unknown keyword argument is refused with a suggestion.

    Parameters
    ----------
    *options : TypedDict
        Keywords that the function accepts as ``**kwargs``.
    """

    def decorate(function: F) -> F:
        code = function.__code__
        known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        known = known.union(*(option.__annotations__ for option in options)) - {"self"}
        by_name = code.co_varnames[code.co_argcount :][: code.co_kwonlyargcount]
        named = next(
            (name for names in (*(option.__annotations__ for option in options), by_name) for name in names), ""
        )
        example = f", such as {named}=..." if named else ""
        has_rest = bool(code.co_flags & inspect.CO_VARARGS)
        n_positional = sys.maxsize if has_rest else code.co_argcount
        public = function.__qualname__.removesuffix(".__init__").removesuffix(".__call__")

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if len(args) > n_positional:
                listed = ", ".join(name for name in code.co_varnames[:n_positional] if name != "self")
                raise TypeError(f"{public}() takes only {listed} by position: pass options by name{example}")
            for name in kwargs:
                if name not in known:
                    advice = closest(name, known) or f"; arguments are {', '.join(sorted(known))}"
                    raise TypeError(f"{public}() got an unexpected keyword argument {name!r}{advice}")
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def refuse_options_of(kind: type, argument: str, *names: str) -> Callable[[F], F]:
    """Decorate a function so that options which a spec has of its own are refused together with such a spec, whatever their values.

    Parameters
    ----------
    kind : type
        Class of the spec.
    argument : str
        Argument that may be a spec.
    *names : str
        The options; none for all keywords that the function accepts as ``**kwargs``.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        declared = frozenset(signature.parameters)

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            # Unknown keywords are left to `suggest_keywords`.
            bound = signature.bind_partial(*args, **{name: kwargs[name] for name in declared & kwargs.keys()}).arguments
            if isinstance(bound.get(argument), kind):
                given = (
                    [name for name in bound if name in names]
                    if names
                    else [name for name in kwargs if name not in declared]
                )
                if given:
                    one = kind.__name__
                    raise TypeError(
                        f"a {one} has its own {', '.join(given)}: pass options to {one}(...), or the {one} alone"
                    )
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def suggest_keywords_of_class(cls: C) -> C:
    """Decorate a class as `suggest_keywords` decorates its ``__init__``, which may be generated by dataclass."""
    cls.__init__ = suggest_keywords()(cls.__init__)  # type: ignore[misc]
    return cls
