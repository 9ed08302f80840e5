"""A self-contained copy of one schema of an API document, with everything it refers to.

OpenAPI and Swagger documents contain the schemas of thousands of operations that refer to each other. The schemas that one operation
needs are copied, each reference once, under ``definitions``. So equal schemas of different documents become equal texts, and the cost of
an operation depends on its references, not on the size of the document. Annotations are dropped.

Older versions are translated to JSON Schema: ``nullable`` (and ``x-nullable``) becomes a union with null; a ``readOnly`` property is not
required, since only servers send it. Nothing is fetched.

Complexity: linear in the reachable schemas; iterative.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from guided.errors import SchemaError, shown
from guided.schema.frontend.dialects import DRAFTS

__all__ = ["bundled", "follow"]

_DRAFT_4 = "http://json-schema.org/draft-04/schema#"
_POSITIONS = {
    **DRAFTS[2020].positions, "definitions": "map", "items": "schema|schemas", "additionalItems": "schema", "dependencies": "map|names",
}  # fmt: skip
_FOR_PEOPLE = frozenset({
    "$comment", "contentEncoding", "contentMediaType", "default", "deprecated", "description", "discriminator", "example", "examples",
    "externalDocs", "nullable", "readOnly", "title", "writeOnly", "xml",
})  # fmt: skip
# Keywords of OpenAPI 3.1 and later; those of another draft are none there.
_BY_NAME = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor")
_LONGEST_NUMBER = 10
_OF_OTHER_DRAFTS = frozenset({"$recursiveRef", "$recursiveAnchor"})


def follow(document: Any, reference: Any, place: str) -> Any:
    """Return the target of a reference within a document.

    Parameters
    ----------
    place : str
        Location of the reference, for errors.

    Raises
    ------
    SchemaError
        The reference leaves the document or has no target.
    """
    if reference == "#":
        return document
    if not isinstance(reference, str) or not reference.startswith("#/"):
        hint = (
            "; write '#/' before a pointer into it" if isinstance(reference, str) and reference.startswith("/") else ""
        )
        reason = f"only references within the document are supported, not {shown(reference)}{hint}"
        raise SchemaError(reason, place, "$ref")
    found = document
    for part in unquote(reference[2:]).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif (
            isinstance(found, list | tuple) and key.isdecimal() and len(key) < _LONGEST_NUMBER and int(key) < len(found)
        ):
            found = found[int(key)]
        else:
            raise SchemaError(f"{shown(reference)} cannot be resolved", place, "$ref")
    return found


def bundled(schema: Any, document: Any, place: str, is_older: bool) -> dict[str, Any]:
    """Return a schema with everything it refers to.

    Parameters
    ----------
    schema : Mapping
        Schema of an object, with references into ``document``. Not changed.
    place : str
        Its location, for errors.
    is_older : bool
        Whether the document predates OpenAPI 3.1. Then keywords beside ``$ref`` are ignored, and the result is a draft-04 schema.

    Raises
    ------
    SchemaError
        A reference leaves the document, has no target, or is by name.
    """
    root: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    names: dict[str, str] = {}
    holder: dict[str, Any] = {}
    work: list[tuple[Any, Any, Any]] = [(schema, holder, "")]
    while work:
        item, into, key = work.pop()
        if not isinstance(item, Mapping):
            into[key] = item
            continue
        copy: dict[str, Any] = {}
        into[key] = {"anyOf": [copy, {"type": "null"}]} if _is_nullable(item, is_older) else copy
        if is_older and "$ref" in item:
            item = {"$ref": item["$ref"]}
        for keyword, value in item.items():
            if keyword in _FOR_PEOPLE or keyword in _OF_OTHER_DRAFTS or keyword.startswith("x-"):
                continue
            if keyword in _BY_NAME and is_older:
                continue
            if keyword in _BY_NAME and isinstance(value, str):
                raise SchemaError("references by name ($dynamicRef) are not supported in API documents", place, keyword)
            if keyword == "$ref":
                name = names.get(value) if isinstance(value, str) else None
                if name is None:
                    target = follow(document, value, place)
                    name = names[value] = _fresh(value, definitions)
                    definitions[name] = True
                    work.append((target, definitions, name))
                copy[keyword] = f"#/definitions/{name}"
            elif keyword == "required" and isinstance(value, list):
                copy[keyword] = _sent(value, item, document, place)
            else:
                _below(keyword, value, copy, work)
    root.update(holder[""])
    if definitions:
        root["definitions"] = definitions
    return {"$schema": _DRAFT_4, **root} if is_older else root


def _below(keyword: str, value: Any, copy: dict[str, Any], work: list[tuple[Any, Any, Any]]) -> None:
    """Copy a keyword's value; the schemas in it are queued."""
    kinds = _POSITIONS.get(keyword, "").split("|")
    copy[keyword] = value
    if "map" in kinds and isinstance(value, Mapping):
        # Invariant: keys keep the document's order, whatever the order of the queue.
        copy[keyword] = inner = dict.fromkeys(value)
        work.extend((each, inner, name) for name, each in value.items() if not isinstance(each, list))
        inner.update((name, each) for name, each in value.items() if isinstance(each, list))
    elif "schemas" in kinds and isinstance(value, list):
        copy[keyword] = entries = [None] * len(value)
        work.extend((each, entries, place) for place, each in enumerate(value))
    elif "schema" in kinds and isinstance(value, Mapping):
        work.append((value, copy, keyword))


def _is_nullable(schema: Mapping[str, Any], is_older: bool) -> bool:
    says = schema.get("nullable") is True or schema.get("x-nullable") is True
    return is_older and says and "$ref" not in schema and "type" in schema


def _sent(required: list[Any], schema: Mapping[str, Any], document: Any, place: str) -> list[Any]:
    """Return the required names without those that only responses have."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return required
    found = []
    for name in required:
        inner = properties.get(name) if isinstance(name, str) else None
        if isinstance(inner, Mapping) and "$ref" in inner and "readOnly" not in inner:
            inner = follow(document, inner["$ref"], place)
        if not isinstance(inner, Mapping) or inner.get("readOnly") is not True:
            found.append(name)
    return found


def _fresh(reference: str, taken: Mapping[str, Any]) -> str:
    """Return an unused name for a reference's target, from its last part, without characters that pointers and URIs escape."""
    last = unquote(reference).rpartition("/")[2] or "root"
    name = "".join(character if character.isalnum() or character in "._-" else "_" for character in last)
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
