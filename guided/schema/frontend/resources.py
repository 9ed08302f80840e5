"""Documents, the resources in them, their anchors, and the contexts of schemas.

A *document* is one JSON text. A *resource* is its root, or a subschema with its own identifier (``$id``, or ``id`` up to draft-04); its
URI is the base of the references within. A *context* is the position of a schema: its resource, its dialect, and its dynamic scope, the
resources entered on the way to it. `index` lists a document's resources and anchors; `guided.schema.frontend.references` looks them up.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from guided.errors import SchemaError, shown
from guided.schema.frontend.dialect import Dialect, subschemas
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.uris import split_fragment

__all__ = ["RECURSIVE", "Context", "Document", "Resource", "Target", "index"]

RECURSIVE = "$recursiveAnchor"


@dataclass(slots=True, eq=False)
class Document:
    """One JSON text that contains schemas.

    Attributes
    ----------
    schema : dict or bool
    location : tuple
        Location of the root.
    indexed : bool
        Whether its resources and anchors have been listed.
    root : Resource
        The resource of the whole document.
    """

    schema: Any
    location: Location
    indexed: bool = False
    root: "Resource" = field(init=False)


@dataclass(slots=True, eq=False)
class Resource:
    """A schema with its own URI.

    Attributes
    ----------
    uri : str
        Without fragment; absolute if the document's URIs are.
    schema : dict or bool
    location : tuple
    dialect : Dialect
    document : Document
    anchors : dict of str to (schema, location)
        All anchors by name, including dynamic ones.
    dynamic : dict of str to (schema, location)
        Dynamic anchors by name. ``$recursiveAnchor: true`` is one with that name.
    """

    uri: str
    schema: Any
    location: Location
    dialect: Dialect
    document: Document
    anchors: dict[str, tuple[Any, Location]] = field(default_factory=dict)
    dynamic: dict[str, tuple[Any, Location]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """The position of a schema. Equal contexts are one object.

    Attributes
    ----------
    resource : Resource
    dialect : Dialect
    scope : tuple of Resource
        Resources with dynamic anchors that enclose the schema, outermost first.
    narrows : bool
        Options that allow fewer values apply: ``additional_properties=False`` and caps. Not where a schema only tests a value.
    """

    resource: Resource
    dialect: Dialect
    scope: tuple[Resource, ...]
    narrows: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a reference.

    Attributes
    ----------
    schema : dict or bool
    context : Context
    location : tuple
    """

    schema: Any
    context: Context
    location: Location


# Maps a subschema, the enclosing resource and dialect, and its location to its resource and dialect.
Identified: TypeAlias = Callable[[dict[str, Any], Resource, Dialect, Location], tuple[Resource, Dialect]]


def index(document: Document, identified: Identified) -> None:
    """List the resources and anchors of a document. O(document), the first time.

    Raises
    ------
    SchemaError
        An anchor is not a name.
    """
    if document.indexed:
        return
    document.indexed = True
    root = document.root
    todo: list[tuple[Any, Resource, Dialect, Location]] = [(document.schema, root, root.dialect, document.location)]
    seen: set[tuple[int, int]] = set()
    while todo:
        schema, resource, dialect, location = todo.pop()
        if not isinstance(schema, dict) or (id(schema), id(resource)) in seen:
            continue
        seen.add((id(schema), id(resource)))
        resource, dialect = identified(schema, resource, dialect, location)
        if dialect.reference_stands_alone and "$ref" in schema:
            positions: Mapping[str, str] = {"definitions": "map"}
        else:
            positions = dialect.positions
            _name_anchors(schema, resource, dialect, location)
        todo += [(part, resource, dialect, (location, *tokens)) for tokens, part in subschemas(schema, positions)]


def _name_anchors(schema: dict[str, Any], resource: Resource, dialect: Dialect, location: Location) -> None:
    place = (schema, location)
    if dialect.year < 2019:
        identifier = schema.get(dialect.identifier)
        if isinstance(identifier, str) and len(identifier) > 1 and "#" in identifier[:-1]:
            resource.anchors.setdefault(split_fragment(identifier)[1], place)
        return
    for keyword in ("$anchor", "$dynamicAnchor"):
        name = schema.get(keyword)
        if isinstance(name, str) and (keyword == "$anchor" or dialect.year >= 2020):
            resource.anchors.setdefault(name, place)
            if keyword == "$dynamicAnchor":
                resource.dynamic.setdefault(name, place)
        elif keyword in schema and not isinstance(name, str):
            raise SchemaError(f"an anchor must be a name, not {shown(name)}", pointer_of(location), keyword)
    if dialect.year == 2019 and schema is resource.schema and schema.get(RECURSIVE) is True:
        resource.dynamic.setdefault(RECURSIVE, place)
