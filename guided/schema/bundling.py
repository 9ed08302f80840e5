"""A schema of an API document by itself: a copy, with all that it refers to beside it.

Documents of OpenAPI and Swagger hold the schemas of thousands of operations that refer to each other. What one operation needs is copied
out, each reference once, under ``definitions``: equal schemas of different documents become equal texts, and what is made of one operation
costs what it refers to and not what the document holds. What is said for people is left out.

The words of older versions become those of JSON Schema: ``nullable`` (and ``x-nullable``) a union with null; a property that is
``readOnly`` is not required, since it is sent by servers only. Nothing is fetched.

Iterative, linear in what is reached.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from guided.errors import SchemaError, shown
from guided.schema.dialects import DRAFTS

__all__ = ["DRAFT_4", "bundled", "follow"]

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
_POSITIONS = {
    **DRAFTS[2020].positions, "definitions": "map", "items": "schema|schemas", "additionalItems": "schema", "dependencies": "map|names",
}  # fmt: skip
_FOR_PEOPLE = frozenset({
    "$comment", "contentEncoding", "contentMediaType", "default", "deprecated", "description", "discriminator", "example", "examples",
    "externalDocs", "nullable", "readOnly", "title", "writeOnly", "xml",
})  # fmt: skip
_BY_NAME = ("$id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef")


def follow(document: Any, reference: Any, place: str) -> Any:
    """What a reference leads to within a document.

    Parameters
    ----------
    place : str
        Where the reference stands, for errors.

    Raises
    ------
    SchemaError
        It leads out of the document, or nowhere.
    """
    if reference == "#":
        return document
    if not isinstance(reference, str) or not reference.startswith("#/"):
        raise SchemaError(f"only references within the document are followed, not {shown(reference)}", place, "$ref")
    found = document
    for part in unquote(reference[2:]).split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list | tuple) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise SchemaError(f"{reference!r} leads nowhere", place, "$ref")
    return found


def bundled(schema: Any, document: Any, place: str, is_older: bool) -> dict[str, Any]:
    """A schema with what it refers to.

    Parameters
    ----------
    schema : Mapping
        Of an object, its references into ``document``. It is not changed.
    place : str
        Where it stands, for errors.
    is_older : bool
        Is the document one of before OpenAPI 3.1? Then nothing counts beside ``$ref``, and the schema is one of draft 4.

    Raises
    ------
    SchemaError
        A reference leads out of the document or nowhere, or is by name.
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
            if keyword in _FOR_PEOPLE or keyword.startswith("x-"):
                continue
            if keyword in _BY_NAME and isinstance(value, str):
                raise SchemaError("references by name are not followed in a document of an API", place, keyword)
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
    return {"$schema": DRAFT_4, **root} if is_older else root


def _below(keyword: str, value: Any, copy: dict[str, Any], work: list[tuple[Any, Any, Any]]) -> None:
    """Copy what a keyword says; the schemas in it later."""
    kinds = _POSITIONS.get(keyword, "").split("|")
    copy[keyword] = value
    if "map" in kinds and isinstance(value, Mapping):
        # Invariant: keys stand in the order of the document, whatever the order of the work.
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
    """Of the names that are required, those that are not only for answers."""
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
    """A name of its own for what a reference leads to, from its last part; without characters that pointers and URIs escape."""
    last = unquote(reference).rpartition("/")[2] or "root"
    name = "".join(character if character.isalnum() or character in "._-" else "_" for character in last)
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found
