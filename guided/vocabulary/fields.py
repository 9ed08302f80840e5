"""Checked access to members of untrusted JSON documents: errors name the place."""

import json
from typing import Any, TypeVar

from guided.errors import VocabularyError

__all__ = ["json_document", "member"]

_Kind = TypeVar("_Kind")
_NAMES = {dict: "an object", list: "an array", str: "a string", int: "an integer", bool: "true or false"}


def member(record: Any, name: str, kind: type[_Kind], place: str) -> _Kind:
    """Return ``record[name]``, checked.

    Raises
    ------
    VocabularyError
        ``record`` is not an object, lacks the member, or has one of another type (true and false are not integers).
    """
    if not isinstance(record, dict):
        raise VocabularyError(f"{place} must be an object, not {_described(record)}")
    if name not in record:
        raise VocabularyError(f"{place} has no member {name!r}")
    value = record[name]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise VocabularyError(f"{place}: {name!r} must be {_NAMES[kind]}, not {_described(value)}")
    return value


def json_document(data: bytes | str) -> dict[str, Any]:
    """Return the object that a JSON text holds.

    Raises
    ------
    VocabularyError
        The text is truncated or damaged, nests too deeply, or is not an object.
    """
    try:
        document = json.loads(data)
    except RecursionError:
        raise VocabularyError("the JSON is nested too deeply for a tokenizer") from None
    except UnicodeDecodeError as error:
        raise VocabularyError(f"the JSON is not UTF-8 at byte {error.start}") from None
    except ValueError as error:
        raise VocabularyError(f"the JSON is truncated or damaged: {error}") from None
    if not isinstance(document, dict):
        raise VocabularyError(f"the JSON must be an object, not {_described(document)}")
    return document


def _described(value: Any) -> str:
    return _NAMES.get(type(value), repr(value)[:40])
