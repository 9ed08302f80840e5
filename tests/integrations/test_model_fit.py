"""Models with tokenizers of other models, and other things that are given where a model or an index belongs."""

import copy
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch

import guided
from guided.integrations.llama_cpp import LlamaCpp
from tests.generate.models import ASCII, ascii_model
from tests.integrations.tiny import EOS, tiny_index, tiny_model, tiny_tokenizer


def model_with(size: int, ends: Any) -> Any:
    """A model with so many logits, whose configuration names these ends of sequence."""
    model = copy.deepcopy(tiny_model(size=size))
    model.generation_config.eos_token_id = ends
    return model


# ------------------------------------------------------------------------------------------------ tokenizers that fit


@pytest.mark.parametrize("size", [264, 320, 264 + 512])
def test_padded_logits_fit(size: int) -> None:
    model = guided.Model(model_with(size, EOS), tiny_tokenizer())
    assert model.vocabulary.size == size
    assert model.vocabulary.eos == (EOS,)
    assert model.vocabulary.special == {"<s>": 256, "</s>": 257}


@pytest.mark.parametrize("ends", [[256, EOS], [EOS, 256]])
def test_all_ends_of_the_model_are_used(ends: list[int]) -> None:
    assert guided.Model(model_with(264, ends), tiny_tokenizer()).vocabulary.eos == (256, 257)


def test_without_ends_of_the_model_those_of_the_tokenizer_are_used() -> None:
    model = model_with(264, None)
    model.config.eos_token_id = None
    assert guided.Model(model, tiny_tokenizer()).vocabulary.eos == (EOS,)


def test_an_end_that_the_model_does_not_name_is_used_with_a_warning() -> None:
    with pytest.warns(
        UserWarning, match=r"ends texts with token 257 \(</s>\), the model's generation_config with \[256\]"
    ):
        model = guided.Model(model_with(264, 256), tiny_tokenizer())
    assert model.vocabulary.eos == (256, 257)


@pytest.mark.parametrize("in_config", [False, True])
def test_an_end_that_is_an_added_token_is_used_by_the_model_and_of_its_folder(in_config: bool, tmp_path: Path) -> None:
    """It need not be special. An index compiled for the folder is one for the model."""
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_tokens(["<|im_end|>"])
    turn = tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert not tokenizer.added_tokens_decoder[turn].special
    hf_model = model_with(300, None if in_config else [turn, EOS])
    hf_model.config.eos_token_id = [turn, EOS] if in_config else EOS
    model = guided.Model(hf_model, tokenizer)
    assert model.vocabulary.eos == (EOS, turn)
    hf_model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert guided.Vocabulary.from_file(tmp_path) == model.vocabulary
    assert guided.regex(model, "a{3}")("x", temperature=0).text == "aaa"


# -------------------------------------------------------------------------------------------- tokenizers of other models


def test_a_tokenizer_of_many_fewer_tokens_is_refused() -> None:
    with pytest.raises(
        guided.ModelError, match=r"logits for 2,000 tokens, but the tokenizer knows 264: .* another model"
    ):
        guided.Model(model_with(2000, EOS), tiny_tokenizer())


def test_a_tokenizer_of_fewer_tokens_is_doubtful() -> None:
    tokenizer = copy.deepcopy(tiny_tokenizer())
    tokenizer.add_tokens([f"<{place}>" for place in range(9000)])
    with pytest.warns(UserWarning, match=r"logits for 10,000 tokens, but the tokenizer knows 9,264"):
        guided.Model(model_with(10_000, EOS), tokenizer)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        (300, "end of sequence is token 300, and the tokenizer has only 264 tokens; the tokenizer's is 257"),
        ([EOS, 300], "end of sequence is token 300"),
        (400, "end of sequence, token 400, is outside its 320 logits; the tokenizer's is 257"),
        (2, r"end of sequence, token 2, spells b'.' in this tokenizer; the tokenizer's is 257 \(</s>\)"),
    ],
)
def test_ends_that_the_tokenizer_does_not_have_are_refused(ends: Any, message: str) -> None:
    with pytest.raises(guided.ModelError, match=message):
        guided.Model(model_with(320, ends), tiny_tokenizer())


# ------------------------------------------------------------------------------------------------ what is not a model


def hf_pipeline() -> Any:
    from transformers import pipeline

    return pipeline("text-generation", model=tiny_model(), tokenizer=tiny_tokenizer(), device="cpu")


@pytest.mark.parametrize(
    "call",
    [
        lambda given: guided.regex(given, "a+"),
        lambda given: guided.choice(given, ["a", "b"]),
        lambda given: guided.json(given, {"type": "object"}),
        lambda given: guided.grammar(given, 'start: "a"'),
        lambda given: guided.tools(given, [print_twice]),
        lambda given: guided.generator(given, guided.Regex("a")),
    ],
    ids=["regex", "choice", "json", "grammar", "tools", "generator"],
)
@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (tiny_model, r"not LlamaForCausalLM; wrap it with its tokenizer: guided.Model\(hf_model, hf_tokenizer\)"),
        (lambda: "gpt2", r"not str; load it first: guided.load\(path_or_name\)"),
        (
            hf_pipeline,
            r"not TextGenerationPipeline; wrap its parts: guided.Model\(pipeline.model, pipeline.tokenizer\)",
        ),
        (object, "not object$"),
    ],
    ids=["model of transformers", "name", "pipeline", "object"],
)
def test_the_error_for_other_objects_explains_how_to_make_a_model(call: Any, make: Any, advice: str) -> None:
    with pytest.raises(TypeError, match=f"model must be a guided.Model or another LanguageModel, {advice}"):
        call(make())


@pytest.mark.parametrize(
    "swapped",
    [
        lambda model: guided.regex("a+", model),
        lambda model: guided.choice(["a", "b"], model),
        lambda model: guided.json({"type": "object"}, model),
        lambda model: guided.grammar('start: "a"', model),
        lambda model: guided.tools([print_twice], model),
        lambda model: guided.generator(guided.Regex("a"), model),
    ],
    ids=["regex", "choice", "json", "grammar", "tools", "generator"],
)
def test_a_model_in_the_second_place_is_named_first(swapped: Any) -> None:
    with pytest.raises(
        TypeError, match=r"model must be a guided\.Model or another LanguageModel, not (str|list|dict|Regex)"
    ):
        swapped(ascii_model())


def print_twice(text: str) -> str:
    """Print a text twice."""
    return text * 2


def test_models_of_transformers_in_other_arguments() -> None:
    with pytest.raises(TypeError, match=r"not str; load it first: guided.load"):
        guided.Model("gpt2", tiny_tokenizer())
    with pytest.raises(TypeError, match=r"the model comes first: guided.Model\(hf_model, hf_tokenizer\)"):
        guided.Model(tiny_tokenizer(), tiny_model())
    with pytest.raises(TypeError, match="fast Hugging Face tokenizer"):
        guided.Model(tiny_model(), "gpt2")


def test_models_have_a_repr() -> None:
    assert repr(guided.Model(tiny_model(), tiny_tokenizer())) == "<Model LlamaForCausalLM: 264 tokens, float32 on cpu>"
    assert repr(ascii_model()) == f"<CountingModel of {ASCII.size} tokens>"
    assert LlamaCpp.__repr__ is guided.LanguageModel.__repr__


# ------------------------------------------------------------------------------------------- arguments of LogitsProcessor


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (guided.Regex("a+"), r"not Regex; compile it first: guided.compile\(spec, vocabulary\)"),
        (guided.JsonSchema({}), r"not JsonSchema; compile it first: guided.compile\(spec, vocabulary\)"),
        ("a+", r"not str; compile it first: guided.compile\(guided.Regex\(pattern\), vocabulary\)"),
        ({"type": "object"}, r"not dict; compile it first: guided.compile\(spec, vocabulary\)"),
        ([guided.Regex("a+")], r"not Regex; compile it first"),
        (None, "not NoneType; compile it first"),
        ([], "not an empty list"),
        (3, "not int; compile it first"),
    ],
)
def test_specs_instead_of_indices_are_refused_with_advice(given: Any, message: str) -> None:
    with pytest.raises(TypeError, match=f"index must be an Index, or a list of them.*{message}"):
        guided.LogitsProcessor(given)


def test_a_generator_exposes_its_index() -> None:
    made = guided.regex(guided.Model(tiny_model(), tiny_tokenizer()), "a+")
    with pytest.raises(TypeError, match="not Generator; give its index"):
        guided.LogitsProcessor(made)
    guided.LogitsProcessor(made.index)


def test_other_arguments_of_wrong_kinds_are_refused() -> None:
    index = tiny_index("a+")
    with pytest.raises(TypeError, match="max_new_tokens must be an int or None, not str"):
        guided.LogitsProcessor(index, max_new_tokens="10")
    with pytest.raises(TypeError, match="prefix must be a str, not bytes"):
        guided.LogitsProcessor(index, prefix=b"a")
    processor = guided.LogitsProcessor(index)
    with pytest.raises(TypeError, match=r"input_ids must be a torch.Tensor, not list"):
        processor([[1]], torch.zeros(1, 264))
    with pytest.raises(TypeError, match=r"scores must be a torch.Tensor, not list"):
        processor(torch.tensor([[1]]), [[0.0]])
    with pytest.raises(guided.ModelError, match=r"input_ids must have two dimensions, one row for each sequence"):
        processor(torch.tensor([1]), torch.zeros(1, 264))


def test_processors_are_copied_and_pickled_without_their_generations() -> None:
    import pickle

    processor = guided.LogitsProcessor(tiny_index("a+"), prefix="a", max_new_tokens=5)
    scores = processor(torch.tensor([[1]]), torch.zeros(1, 264))
    for copied in (copy.deepcopy(processor), copy.copy(processor), pickle.loads(pickle.dumps(processor))):
        assert torch.equal(copied(torch.tensor([[1]]), torch.zeros(1, 264)), scores)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # as if it were not installed
import guided
from guided import LogitsProcessor
vocabulary = guided.Vocabulary([b"a", None], eos=[1])
index = guided.compile(guided.Regex("a+"), vocabulary)
try:
    LogitsProcessor(index)
except guided.ModelError as error:
    assert "torch is not installed: run pip install torch" in str(error), error
else:
    raise AssertionError("it was made without torch")
try:
    LogitsProcessor(guided.Regex("a+"))
except TypeError as error:
    assert "compile it first" in str(error), error
try:
    guided.regex(guided.Model, "a+")
except TypeError:
    pass
"""


def test_without_torch_the_package_works_and_names_the_missing_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH], capture_output=True, text=True, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stderr


def test_usual_models_give_no_warnings() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        guided.Model(tiny_model(), tiny_tokenizer())
