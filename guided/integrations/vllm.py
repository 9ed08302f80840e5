"""The structured-output backend ``guided`` of vLLM: ``vllm serve MODEL --structured-outputs-config '{"backend": "guided"}'``.

vLLM has no registry of backends. It calls `register` by the entry point ``vllm.general_plugins`` in every process (front end, engine,
workers), and `register` changes vLLM in these places, once, with effect only where the configuration names this backend:

1. ``StructuredOutputsConfig.backend``, a Literal that pydantic checks, alone and in ``VllmConfig``: it gains the name, and both options
   about JSON are allowed with it.
2. ``SamplingParams._validate_structured_outputs``, in the front end: checks the request, and raises what vLLM answers with HTTP 400.
3. ``StructuredOutputManager``, in the engine: ``__init__`` sets the backend, so that a model that cannot be served fails at start;
   ``grammar_init`` serves a constraint whose index is known at once, instead of by the pool of threads that compiles the others.
4. ``AsyncLLM``, in the front end: ``__init__`` prepares the checks, which takes a second, and ``add_request`` runs each on a thread first,
   because place 2 is called in the event loop.

`differences` compares the shape of these places with what this module was written for (vLLM 0.32 and 0.33). If they differ, `register`
logs what differs, as an error, and changes nothing: vLLM then refuses the name ``guided`` at start, and other backends are unaffected.

Importing this module imports neither vLLM nor the rest of the package, since vLLM does so in processes that need neither.
"""

import functools
import inspect
import logging
from collections.abc import Iterator
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from guided.integrations.vllm_backend import RequestChecks

__all__ = ["NAME", "differences", "register"]

NAME = "guided"

# vLLM configures its own loggers, those below "vllm".
_logger = logging.getLogger("vllm.guided")

# Functions that are wrapped or implemented, with the names of their parameters; those of AsyncLLM only the first ones.
_SIGNATURES: dict[str, tuple[str, ...]] = {
    "SamplingParams._validate_structured_outputs": (
        "self", "model_config", "structured_outputs_config", "tokenizer",
    ),
    "StructuredOutputManager.__init__": ("self", "vllm_config"),
    "StructuredOutputManager.grammar_init": ("self", "request"),
    "StructuredOutputBackend.compile_grammar": ("self", "request_type", "grammar_spec", "stop_token_ids"),
    "StructuredOutputBackend.allocate_token_bitmask": ("self", "max_num_seqs"),
    "StructuredOutputBackend.destroy": ("self",),
    "StructuredOutputGrammar.accept_tokens": ("self", "request_id", "tokens"),
    "StructuredOutputGrammar.validate_tokens": ("self", "tokens"),
    "StructuredOutputGrammar.rollback": ("self", "num_tokens"),
    "StructuredOutputGrammar.fill_bitmask": ("self", "bitmask", "batch_index"),
    "StructuredOutputGrammar.is_terminated": ("self",),
    "StructuredOutputGrammar.reset": ("self",),
    "get_structured_output_key": ("params",),
    "AsyncLLM.__init__": ("self", "vllm_config", "..."),
    "AsyncLLM.add_request": ("self", "request_id", "prompt", "params", "..."),
}  # fmt: skip
# Methods that an implementation must have: one more than these would be missing here.
_ABSTRACT = {
    "StructuredOutputBackend": {"compile_grammar", "allocate_token_bitmask", "destroy"},
    "StructuredOutputGrammar": {
        "accept_tokens", "validate_tokens", "rollback", "fill_bitmask", "is_terminated", "reset",
    },
}  # fmt: skip
_KINDS = {"JSON", "JSON_OBJECT", "REGEX", "GRAMMAR", "CHOICE", "STRUCTURAL_TAG"}
_FIELDS = {
    "json", "regex", "choice", "grammar", "json_object", "structural_tag", "disable_any_whitespace",
    "disable_additional_properties", "whitespace_pattern", "_backend",
}  # fmt: skip
_NO_TOKENIZER = "structured outputs need a tokenizer, and the server was started with skip_tokenizer_init"
_OPTION_CHECK = "_validate_structured_output_config"


def register() -> None:
    """Make the backend known to vLLM, or log why that is not possible. Does nothing when called again."""
    found = differences()
    if found:
        import vllm

        _logger.error(
            "backend 'guided' is not available: vLLM %s differs from the versions it was written for, 0.32 and 0.33 "
            "(%s). Use another version of vLLM or of guided-decoding.",
            getattr(vllm, "__version__", "of an unknown version"),
            "; ".join(found),
        )
        return
    places = _places()
    if NAME in get_args(places.config.StructuredOutputsBackend):
        return
    _widen_config(places.config, places.VllmConfig)
    _wrap_validation(places.SamplingParams, places.VLLMValidationError)
    _wrap_manager(places)
    _wrap_async(places.AsyncLLM, places.GracefulHTTPError)


def differences() -> list[str]:
    """Return what the installed vLLM has otherwise than `register` needs it; empty if it fits."""
    try:
        places = _places()
    except ImportError as error:
        return [str(error)]
    return [*_differing_signatures(places), *_differing_classes(places)]


def _places() -> SimpleNamespace:
    """Return the modules and classes that `register` changes or that the backend implements, by name."""
    from vllm.config import VllmConfig
    from vllm.config import structured_outputs as config
    from vllm.exceptions import GracefulHTTPError, VLLMValidationError
    from vllm.sampling_params import SamplingParams, StructuredOutputsParams
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.structured_output import StructuredOutputManager
    from vllm.v1.structured_output.backend_types import (
        StructuredOutputBackend,
        StructuredOutputGrammar,
        StructuredOutputOptions,
    )
    from vllm.v1.structured_output.request import get_structured_output_key

    return SimpleNamespace(
        VllmConfig=VllmConfig,
        config=config,
        GracefulHTTPError=GracefulHTTPError,
        VLLMValidationError=VLLMValidationError,
        SamplingParams=SamplingParams,
        StructuredOutputsParams=StructuredOutputsParams,
        AsyncLLM=AsyncLLM,
        StructuredOutputManager=StructuredOutputManager,
        StructuredOutputBackend=StructuredOutputBackend,
        StructuredOutputGrammar=StructuredOutputGrammar,
        StructuredOutputOptions=StructuredOutputOptions,
        get_structured_output_key=get_structured_output_key,
    )


def _differing_signatures(places: SimpleNamespace) -> Iterator[str]:
    for name, expected in _SIGNATURES.items():
        try:
            function: Any = functools.reduce(getattr, name.split("."), places)
            names = tuple(inspect.signature(function).parameters)
        except (AttributeError, TypeError, ValueError) as error:
            yield f"no usable {name}: {error}"
            continue
        if expected[-1] == "...":
            names, expected = names[: len(expected) - 1], expected[:-1]
        if names != expected:
            yield f"{name} takes {', '.join(names)} instead of {', '.join(expected)}"


def _differing_classes(places: SimpleNamespace) -> Iterator[str]:
    try:
        for name, methods in _ABSTRACT.items():
            found = getattr(places, name).__abstractmethods__
            if found != methods:
                yield f"{name} has the abstract methods {', '.join(sorted(found))}"
        kinds = places.StructuredOutputOptions.__members__
        if set(kinds) != _KINDS:
            yield f"StructuredOutputOptions has {', '.join(kinds)}"
        missing = _FIELDS - set(places.StructuredOutputsParams.__dataclass_fields__)
        if missing:
            yield f"StructuredOutputsParams has no {', '.join(sorted(missing))}"
        if "auto" not in get_args(places.config.StructuredOutputsBackend):
            yield "StructuredOutputsBackend is not a Literal that contains 'auto'"
        config = places.config.StructuredOutputsConfig
        if "backend" not in config.__dataclass_fields__:
            yield "StructuredOutputsConfig has no field 'backend'"
        if _OPTION_CHECK not in config.__pydantic_decorators__.model_validators:
            yield f"StructuredOutputsConfig has no validator {_OPTION_CHECK}"
        if "backend" not in places.StructuredOutputManager.grammar_init.__code__.co_names:
            yield "StructuredOutputManager.grammar_init does not read self.backend"
        if "structured_outputs_config" not in places.VllmConfig.__dataclass_fields__:
            yield "VllmConfig has no field 'structured_outputs_config'"
        if "parameter" not in inspect.signature(places.VLLMValidationError).parameters:
            yield "VLLMValidationError takes no parameter"
        if "http_status" not in inspect.signature(places.GracefulHTTPError).parameters:
            yield "GracefulHTTPError takes no http_status"
    except (AttributeError, TypeError, ValueError) as error:
        yield str(error)


def _widen_config(settings: Any, whole: Any) -> None:
    """Place 1: the configuration accepts the name, and the options about JSON with it."""
    from pydantic.dataclasses import rebuild_dataclass

    config = settings.StructuredOutputsConfig
    wider = Literal[(*get_args(settings.StructuredOutputsBackend), NAME)]  # type: ignore[valid-type]
    settings.StructuredOutputsBackend = wider
    config.__annotations__["backend"] = wider
    config.__dataclass_fields__["backend"].type = wider
    validator = config.__pydantic_decorators__.model_validators[_OPTION_CHECK]
    usual = validator.func

    @functools.wraps(usual)
    def check(self: Any) -> Any:
        return self if self.backend == NAME else usual(self)

    validator.func = check
    setattr(config, _OPTION_CHECK, check)
    rebuild_dataclass(config, force=True)
    # It holds a copy of the schema of its field, validator included.
    rebuild_dataclass(whole, force=True)


def _wrap_validation(params: Any, error: Any) -> None:
    """Place 2: the front end checks requests for this backend itself."""
    usual = params._validate_structured_outputs

    @functools.wraps(usual)
    def validate(self: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:
        if not _concerns(self, structured_outputs_config):
            usual(self, model_config, structured_outputs_config, tokenizer)
            return
        if tokenizer is None:
            raise error(_NO_TOKENIZER, parameter="structured_outputs")
        refusal = _checks(tokenizer, structured_outputs_config, model_config).refusal(self, model_config)
        if refusal:
            raise error(f"backend 'guided' refuses the request: {refusal}", parameter="structured_outputs")

    params._validate_structured_outputs = validate


def _wrap_manager(places: SimpleNamespace) -> None:
    """Place 3: the engine has the backend from the start, and waits for no compile of what is known."""
    manager = places.StructuredOutputManager
    usual_init, usual = manager.__init__, manager.grammar_init

    @functools.wraps(usual_init)
    def initialize(self: Any, vllm_config: Any) -> None:
        usual_init(self, vllm_config)
        tokenizer = getattr(self, "tokenizer", None)
        if vllm_config.structured_outputs_config.backend != NAME or tokenizer is None:
            return
        from guided.integrations.vllm_backend import Backend, Grammar

        places.StructuredOutputBackend.register(Backend)
        places.StructuredOutputGrammar.register(Grammar)
        self.backend = Backend(vllm_config, tokenizer, vllm_config.model_config.get_vocab_size())

    @functools.wraps(usual)
    def grammar_init(self: Any, request: Any) -> None:
        constraint, known_grammar = request.structured_output_request, getattr(self.backend, "known_grammar", None)
        if constraint is not None and known_grammar is not None:
            known = known_grammar(*constraint.structured_output_key, request.sampling_params.all_stop_token_ids)
            if known is not None:
                constraint.grammar = known
                return
        usual(self, request)

    manager.__init__, manager.grammar_init = initialize, grammar_init


def _wrap_async(engine: Any, http_error: Any) -> None:
    """Place 4: the check of a request takes place on a thread before the event loop needs its outcome."""
    usual_init, usual = engine.__init__, engine.add_request

    @functools.wraps(usual_init)
    def initialize(self: Any, vllm_config: Any, *more: Any, **others: Any) -> None:
        usual_init(self, vllm_config, *more, **others)
        config, tokenizer = vllm_config.structured_outputs_config, self.input_processor.tokenizer
        if config.backend == NAME and tokenizer is not None:
            _checks(tokenizer, config, vllm_config.model_config)

    @functools.wraps(usual)
    async def add_request(self: Any, request_id: str, prompt: Any, params: Any, *more: Any, **others: Any) -> Any:
        config = getattr(getattr(self, "vllm_config", None), "structured_outputs_config", None)
        if config is not None and _concerns(params, config):
            tokenizer = self.input_processor.tokenizer
            if tokenizer is not None:
                try:
                    await _checks(tokenizer, config, self.vllm_config.model_config).ahead(params)
                except TimeoutError as error:
                    raise http_error(f"backend 'guided': {error}", HTTPStatus.SERVICE_UNAVAILABLE) from None
        return await usual(self, request_id, prompt, params, *more, **others)

    engine.__init__, engine.add_request = initialize, add_request


def _concerns(params: Any, config: Any) -> bool:
    """Return whether a request has a constraint for this backend."""
    return config is not None and config.backend == NAME and getattr(params, "structured_outputs", None) is not None


def _checks(tokenizer: Any, config: Any, model_config: Any) -> "RequestChecks":
    from guided.integrations.vllm_backend import RequestChecks

    return RequestChecks.of(tokenizer, config, model_config)
