"""Which schema a reference means: resources, their URIs and anchors, dynamic scopes, registries.

A *document* is the user's schema, one of the registry's, or a metaschema. A *resource* is a document's root or a subschema with an
identifier of its own (``$id``, or ``id`` up to draft-04), whose URI is the base of the references within. A *context* says where a
schema stands: its resource, its dialect, and its dynamic scope, the resources entered on the way to it. Only resources with dynamic
anchors that are not bound yet stay in a scope, so there are few scopes, and in most schemas one context.

Nothing is fetched: what neither the document nor the registry has is a `SchemaError`. The metaschemas of the drafts are read as data from
the package ``jsonschema_specifications`` where that is installed.

Cost: a pointer is followed token by token; a document is read through once, and only when a reference is by anchor or by URI, or when a
second resource is entered from draft 2019-09 on.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from guided.errors import SchemaError, shown
from guided.schema.dialects import DEFAULT, Dialect, known_dialect, with_vocabularies
from guided.schema.metaschemas import metaschema
from guided.schema.site import Location, pointer_of
from guided.schema.uris import resolve_uri, split_fragment

__all__ = ["Context", "References", "Resource", "Target"]

_RECURSIVE = "$recursiveAnchor"


@dataclass(slots=True, eq=False)
class Document:
    """One JSON text of schemas.

    Attributes
    ----------
    schema : dict or bool
    location : tuple
        Of the root.
    indexed : bool
        Have its resources and anchors been listed?
    root : Resource
        Of the whole.
    """

    schema: Any
    location: Location
    indexed: bool = False
    root: "Resource" = field(init=False)


@dataclass(slots=True, eq=False)
class Resource:
    """A schema with a URI of its own.

    Attributes
    ----------
    uri : str
        Absolute where the document has such URIs; without fragment.
    schema : dict or bool
    location : tuple
    dialect : Dialect
    document : Document
    anchors : dict of str to (schema, location)
        By name; dynamic ones too.
    dynamic : dict of str to (schema, location)
        Dynamic ones alone. ``$recursiveAnchor: true`` is one, of that name.
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
    """Where a schema stands. Equal contexts are one object.

    Attributes
    ----------
    resource : Resource
    dialect : Dialect
    scope : tuple of Resource
        Resources with dynamic anchors that were entered on the way, outermost first.
    """

    resource: Resource
    dialect: Dialect
    scope: tuple[Resource, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """What a reference leads to.

    Attributes
    ----------
    schema : dict or bool
    context : Context
    location : tuple
    """

    schema: Any
    context: Context
    location: Location


class References:
    """The documents of one schema, and how references between them resolve.

    Attributes
    ----------
    root : Context
        Of the schema's root.
    """

    def __init__(self, schema: Any, registry: Mapping[str, Any]) -> None:
        self._registry = registry
        self._documents: list[Document] = []
        self._resources: dict[str, Resource] = {}
        self._identities: dict[tuple[int, int], tuple[Resource, Dialect]] = {}
        self._contexts: dict[tuple[int, ...], Context] = {}
        self._targets: dict[tuple[str, str, Context], Target] = {}
        self._dialects: dict[str, Dialect | None] = {}
        self._default = DEFAULT
        resource = self._open(schema, "", ("",))
        self._default = resource.dialect
        self.root = self._context(resource, resource.dialect, (resource,) if resource.dialect.year >= 2019 else ())

    def entered(self, schema: Any, context: Context, location: Location) -> Context:
        """The context within a subschema, given that around it."""
        if not isinstance(schema, dict) or not ("$id" in schema or "$schema" in schema or "id" in schema):
            return context
        resource, dialect = self._identified(schema, context.resource, context.dialect, location)
        return self._enter(context, resource, dialect)

    def resolve(self, keyword: str, reference: str, context: Context, location: Location) -> Target:
        """What a reference means in a context.

        Parameters
        ----------
        keyword : {"$ref", "$dynamicRef", "$recursiveRef"}
        reference : str
        context : Context
        location : Location
            Of the schema that refers, for the error.

        Raises
        ------
        SchemaError
            It leads nowhere.
        """
        memo = (keyword, reference, context)
        target = self._targets.get(memo)
        if target is None:
            target = self._target(reference, context, location, keyword)
            if keyword == "$dynamicRef":
                target = self._dynamic(split_fragment(reference)[1], "$dynamicAnchor", target, context)
            elif keyword == "$recursiveRef":
                target = self._dynamic(_RECURSIVE, _RECURSIVE, target, context)
            self._targets[memo] = target
        return target

    def _target(self, reference: str, context: Context, location: Location, keyword: str) -> Target:
        uri, fragment = split_fragment(reference)
        resource: Resource | None = context.resource
        if uri:
            resource = self._resource(resolve_uri(context.resource.uri, uri))
        if resource is None:
            reason = f"{reference!r} is neither in the schema nor in the registry (nothing is fetched)"
            raise SchemaError(reason, pointer_of(location), keyword)
        fragment = unquote(fragment)
        if not fragment:
            return Target(resource.schema, self._enter(context, resource, resource.dialect), resource.location)
        if fragment.startswith("/"):
            found = self._follow(fragment, resource, context, resource.dialect)
        else:
            self._index(resource.document)
            named = resource.anchors.get(fragment)
            inner = self._enter(context, resource, resource.dialect)
            found = None if named is None else Target(named[0], inner, named[1])
        if found is None:
            raise SchemaError(f"{reference!r} leads nowhere", pointer_of(location), keyword)
        return found

    def _follow(self, pointer: str, resource: Resource, context: Context, dialect: Dialect) -> Target | None:
        """Go down a JSON Pointer, through whatever resources lie on the way; only the last is entered."""
        schema, location = resource.schema, resource.location
        for token in pointer[1:].split("/"):
            if isinstance(schema, list) and token.isdecimal() and token.isascii() and len(token) < 10:
                position = int(token)
                if position >= len(schema):
                    return None
                schema, location = schema[position], (location, position)
                continue
            name = token.replace("~1", "/").replace("~0", "~")
            if not isinstance(schema, dict) or name not in schema:
                return None
            schema, location = schema[name], (location, name)
            if isinstance(schema, dict) and ("$id" in schema or "$schema" in schema or "id" in schema):
                resource, dialect = self._identified(schema, resource, dialect, location)
        return Target(schema, self._enter(context, resource, dialect), location)

    def _dynamic(self, name: str, keyword: str, target: Target, context: Context) -> Target:
        """The outermost schema of the scope with this dynamic anchor, if the target itself has it."""
        wanted = True if keyword == _RECURSIVE else name
        if not isinstance(target.schema, dict) or target.schema.get(keyword) != wanted:
            return target
        for resource in (*context.scope, target.context.resource):
            self._index(resource.document)
            found = resource.dynamic.get(name)
            if found is not None:
                inner = self._enter(context, resource, resource.dialect)
                return Target(found[0], inner, found[1])
        return target

    def _resource(self, uri: str) -> Resource | None:
        found = self._resources.get(uri)
        if found is not None:
            return found
        for document in self._documents:
            self._index(document)
        found = self._resources.get(uri)
        if found is None:
            schema = self._document(uri)
            if schema is not None:
                found = self._resources[uri] = self._open(schema, uri, (uri,))
        return found

    def _document(self, uri: str) -> Any:
        """A document of the registry, or a metaschema; None if there is none."""
        for spelled in (uri, f"{uri}#"):
            if spelled in self._registry:
                return self._registry[spelled]
        return metaschema(uri)

    def _open(self, schema: Any, uri: str, location: Location) -> Resource:
        dialect = self._default
        if isinstance(schema, dict):
            dialect = self._named_dialect(schema, dialect, location)
            identifier = schema.get(dialect.identifier)
            if isinstance(identifier, str):
                uri = resolve_uri(uri, split_fragment(identifier)[0])
        document = Document(schema, location)
        resource = document.root = Resource(uri, schema, location, dialect, document)
        self._documents.append(document)
        self._resources.setdefault(uri, resource)
        return resource

    def _identified(
        self, schema: dict[str, Any], outer: Resource, dialect: Dialect, location: Location
    ) -> tuple[Resource, Dialect]:
        """Resource and dialect of a subschema, given those around it, or those that this gave before."""
        if schema is outer.schema:
            return outer, outer.dialect
        # Why: remembered, since within a part that a $schema gives another dialect, its own id would come to mean something.
        known = self._identities.get((id(schema), id(outer)))
        if known is None:
            known = self._identities[id(schema), id(outer)] = self._identity(schema, outer, dialect, location)
        return known

    def _identity(
        self, schema: dict[str, Any], outer: Resource, around: Dialect, location: Location
    ) -> tuple[Resource, Dialect]:
        dialect = self._named_dialect(schema, around, location)
        identifier = schema.get(around.identifier, schema.get("$id"))
        if not isinstance(identifier, str) or (dialect.reference_stands_alone and "$ref" in schema):
            return outer, dialect
        uri = resolve_uri(outer.uri, split_fragment(identifier)[0])
        if uri == outer.uri:
            return outer, dialect
        found = Resource(uri, schema, location, dialect, outer.document)
        self._resources.setdefault(uri, found)
        return found, dialect

    def _named_dialect(self, schema: dict[str, Any], around: Dialect, location: Location) -> Dialect:
        name = schema.get("$schema")
        return (self._dialect(name, location) if isinstance(name, str) else None) or around

    def _dialect(self, uri: str, location: Location) -> Dialect | None:
        """The dialect that a ``$schema`` names; None if nobody knows it."""
        chain = []
        found = known_dialect(uri)
        while found is None and uri not in self._dialects:
            schema = self._registry.get(uri, self._registry.get(uri.rstrip("#")))
            self._dialects[uri] = None
            if not isinstance(schema, dict):
                return None
            chain.append((uri, schema.get("$vocabulary")))
            uri = str(schema.get("$schema"))
            found = known_dialect(uri) or self._dialects.get(uri)
        found = found or self._dialects.get(uri)
        for name, vocabularies in reversed(chain):
            found = found or DEFAULT
            if isinstance(vocabularies, dict):
                found, unknown = with_vocabularies(found, name, vocabularies)
                for vocabulary in unknown:
                    raise SchemaError(f"the vocabulary {vocabulary} is unknown", pointer_of(location), "$schema")
            self._dialects[name] = found
        return found

    def _enter(self, context: Context, resource: Resource, dialect: Dialect) -> Context:
        if resource is context.resource and dialect is context.dialect:
            return context
        scope = context.scope
        if resource is not context.resource and (scope or dialect.year >= 2019):
            scope = self._scope((*scope, resource))
        return self._context(resource, dialect, scope)

    def _scope(self, resources: tuple[Resource, ...]) -> tuple[Resource, ...]:
        """Those of the resources that bind a dynamic anchor which none before them does."""
        bound: set[str] = set()
        kept = []
        for resource in resources:
            self._index(resource.document)
            if not bound.issuperset(resource.dynamic):
                bound.update(resource.dynamic)
                kept.append(resource)
        return tuple(kept)

    def _context(self, resource: Resource, dialect: Dialect, scope: tuple[Resource, ...]) -> Context:
        key = (id(resource), id(dialect), *map(id, scope))
        found = self._contexts.get(key)
        if found is None:
            found = self._contexts[key] = Context(resource, dialect, scope)
        return found

    def _index(self, document: Document) -> None:
        """List the resources and anchors of a document. O(document), once."""
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
            resource, dialect = self._identified(schema, resource, dialect, location)
            if dialect.reference_stands_alone and "$ref" in schema:
                if location is document.location or "definitions" in schema:
                    todo.extend(_below(schema, {"definitions": "map"}, resource, dialect, location))
                continue
            _name_anchors(schema, resource, dialect, location)
            todo.extend(_below(schema, dialect.positions, resource, dialect, location))


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
            raise SchemaError(f"an anchor is a name, not {shown(name)}", pointer_of(location), keyword)
    if dialect.year == 2019 and schema is resource.schema and schema.get(_RECURSIVE) is True:
        resource.dynamic.setdefault(_RECURSIVE, place)


def _below(
    schema: dict[str, Any], positions: Mapping[str, str], resource: Resource, dialect: Dialect, location: Location
) -> Iterator[tuple[Any, Resource, Dialect, Location]]:
    """The subschemas of a schema."""
    for keyword, value in schema.items():
        kind = positions.get(keyword)
        if kind is None:
            continue
        if isinstance(value, dict) and kind.startswith("map"):
            for name, member in value.items():
                yield member, resource, dialect, (location, keyword, name)
        elif isinstance(value, list) and "schemas" in kind:
            for i, member in enumerate(value):
                yield member, resource, dialect, (location, keyword, i)
        elif kind.startswith("schema"):
            yield value, resource, dialect, (location, keyword)
