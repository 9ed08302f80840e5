"""Lark without its comparison of terminals, which takes most of the time of these tests and changes no parser."""

from collections.abc import Iterator

import lark.lexer
import pytest


@pytest.fixture(scope="module", autouse=True)
def no_comparison() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lark.lexer, "has_interegular", False)
        yield
