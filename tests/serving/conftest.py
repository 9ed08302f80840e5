"""One server for all tests of a file; the backend is guided, or that of the environment variable SERVING_BACKEND."""

import os
from collections.abc import Iterator

import pytest

from benchmarks.serving_server import Server, is_installed, serving

BACKEND = os.environ.get("SERVING_BACKEND", "guided")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(os.path.dirname(__file__)):
            item.add_marker(pytest.mark.serving)
            if not is_installed():
                item.add_marker(pytest.mark.skip(reason="vLLM is not installed: run make test-serving"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    log = tmp_path_factory.mktemp("serving") / "server.log"
    with serving(BACKEND, log) as running:
        yield running
        print(f"\nlog of the server: {log}")


@pytest.fixture(autouse=True)
def _server_survives(request: pytest.FixtureRequest) -> Iterator[None]:
    """No test ends the engine."""
    yield
    if "server" in request.fixturenames:
        assert request.getfixturevalue("server").is_alive(), "the engine died"
