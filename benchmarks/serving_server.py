"""A real ``vllm serve`` on this machine, for `benchmarks.serving` and tests/serving.

The model is the default one on the CPU. Only one server at a time fits into the memory of a small machine (4 to 5 GB each).
"""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["MODEL", "Server", "is_installed", "number_type", "serving"]

MODEL = "smol"
# Under load a start takes four times as long as alone (33 s).
_PATIENCE = 400


def is_installed() -> bool:
    """Is vLLM installed?"""
    return importlib.util.find_spec("vllm") is not None


def number_type() -> str:
    """Return the type of the model's numbers: float32 on processors that compute bfloat16 in software, five times as slowly."""
    information = Path("/proc/cpuinfo")
    words = information.read_text().split() if information.is_file() else []
    return "bfloat16" if {"avx512_bf16", "amx_bf16", "bf16"} & set(words) else "float32"


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes
    ----------
    url : str
    log : Path
        All that it prints.
    process : Popen
    backend : str
    clients : list
        Those made by `client`.
    """

    url: str
    log: Path
    process: "subprocess.Popen[bytes]"
    backend: str
    clients: list[Any] = field(default_factory=list)

    def is_alive(self) -> bool:
        """Do the server and its engine answer?"""
        if self.process.poll() is not None:
            return False
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=60) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, TimeoutError):
            return False

    def metrics(self) -> dict[str, float]:
        """Values by name (with labels) of the server's Prometheus endpoint."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def memory(self) -> dict[str, int]:
        """Resident bytes by process (on Linux): the front end, "VLLM::EngineCore", "VLLM::Worker", and helpers of Python's."""
        found: dict[str, int] = {}
        for process in _descendants(self.process.pid):
            name = "front end" if process == self.process.pid else _title(process)
            found[name] = found.get(name, 0) + _resident(process)
        return found

    def client(self, **options: Any) -> Any:
        """Return a client of the openai package, without retries; closed with the server."""
        import openai

        made = openai.OpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=300, max_retries=0, **options)
        self.clients.append(made)
        return made

    def async_client(self, **options: Any) -> Any:
        """Return an asynchronous client of the openai package, without retries."""
        import openai

        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="none", timeout=300, max_retries=0, **options)


@contextmanager
def serving(
    backend: str,
    log: Path,
    more: Sequence[str] = (),
    model: Path | None = None,
    variables: Mapping[str, str] | None = None,
    **config: Any,
) -> Iterator[Server]:
    """Run a server until the end of the block.

    Parameters
    ----------
    backend : str
        Name of the structured-output backend.
    log : Path
    more : sequence of str
        Further arguments of ``vllm serve``.
    model : Path, optional
        Folder of the model; by default that of the default model.
    variables : mapping of str to str, optional
        Further environment variables.
    **config
        Further options of ``--structured-outputs-config``.

    Raises
    ------
    RuntimeError
        The server did not start; with the end of its log.
    """
    from guided.integrations.load import default_model_folder

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("vllm")), "serve", str(model or default_model_folder()), "--served-model-name", MODEL,
        "--host", "127.0.0.1", "--port", str(port), "--max-model-len", "2048", "--max-num-seqs", "32",
        "--dtype", number_type(), "--enforce-eager", "--enable-auto-tool-choice", "--tool-call-parser", "hermes",
        "--structured-outputs-config", json.dumps({"backend": backend, **config}), *more,
    ]  # fmt: skip
    # With a folder for all processes, /metrics shows what the engine counts, too.
    shared = log.with_suffix(".metrics")
    shared.mkdir()
    settings = {
        "PROMETHEUS_MULTIPROC_DIR": str(shared), "HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1",
    }  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            env={**settings, **os.environ, **(variables or {})},
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        server = Server(f"http://127.0.0.1:{port}", log, process, backend)
        try:
            _wait(server)
            yield server
        finally:
            for client in server.clients:
                client.close()
            _stop(process)


def _wait(server: Server) -> None:
    end = time.monotonic() + _PATIENCE
    while not server.is_alive():
        if server.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"vllm serve did not start:\n{server.log.read_text(errors='replace')[-3000:]}")
        time.sleep(1)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    # The engine is a process of its own, in the same session.
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(30)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def _descendants(root: int) -> list[int]:
    found = [root]
    for process in found:
        for children in Path(f"/proc/{process}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def _title(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().partition("\0")[0].strip()
    except OSError:
        return "ended"


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
