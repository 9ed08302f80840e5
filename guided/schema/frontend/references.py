"""Resolution of references: resources, their URIs and anchors, dynamic scopes, registries.

The documents are the user's schema, the registry documents it refers to, and the metaschemas (`guided.schema.frontend.resources` defines
their contents). A dynamic scope keeps only resources with a dynamic anchor that is not bound yet, so there are few scopes, and most
schemas have one context.

Nothing is fetched: a reference to anything outside the document and the registry is a `SchemaError`. The metaschemas of the drafts are
read as data from the package ``jsonschema_specifications`` if it is installed.

Complexity: a pointer is followed token by token. A document is scanned once, and only for a reference by anchor or by URI, or when a
second resource is entered from draft 2019-09 on.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from guided.errors import SchemaError, shown
from guided.schema.frontend.dialect import Dialect
from guided.schema.frontend.dialects import DEFAULT, dialect_of_vocabularies, known_dialect, with_vocabularies
from guided.schema.frontend.location import Location, pointer_of
from guided.schema.frontend.metaschemas import metaschema
from guided.schema.frontend.resources import RECURSIVE, Context, Document, Resource, Target, index
from guided.schema.frontend.uris import last_segment, resolve_uri, split_fragment

__all__ = ["References", "reachable"]

_REFERENCES = frozenset({"$ref", "$dynamicRef", "$recursiveRef", "$schema"})


def reachable(schema: Any, registry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documents of a registry that a schema may refer to, directly or through others of them.

    A reference keeps its last path segment when it is resolved, whatever its base, so documents are found by that of their key or
    identifier. O(documents returned + size of the registry's table).
    """
    if not registry:
        return {}
    by_segment: dict[str, list[str]] = {}
    for key, document in registry.items():
        identifier = document.get("$id", document.get("id")) if isinstance(document, Mapping) else None
        for uri in {key, identifier} if isinstance(identifier, str) else {key}:
            by_segment.setdefault(last_segment(uri) or "", []).append(key)
    found: dict[str, Any] = {}
    work, seen = [schema], set[int]()
    # The metaschemas refer to each other, and a registry may replace them.
    wanted = [key for key in registry if "json-schema.org/" in key]
    while work or wanted:
        while wanted:
            key = wanted.pop()
            if key not in found:
                found[key] = registry[key]
                work.append(registry[key])
        item = work.pop() if work else None
        if isinstance(item, Mapping | list | tuple):
            if id(item) in seen:
                continue
            seen.add(id(item))
        if isinstance(item, Mapping):
            for keyword, value in item.items():
                if keyword in _REFERENCES and isinstance(value, str):
                    segment = last_segment(value)
                    wanted += registry if segment is None else by_segment.get(segment, ())
            work.extend(item.values())
        elif isinstance(item, list | tuple):
            work.extend(item)
    return {key: found[key] for key in registry if key in found}


class References:
    """The documents of one schema; resolves references between them.

    Parameters
    ----------
    schema : dict or bool
    registry : Mapping of str to schema
    narrows : bool
        `Context.narrows` of the root.

    Attributes
    ----------
    root : Context
        Context of the schema's root.
    unknown_drafts : dict
        Unknown values of ``$schema``, in order of discovery.
    """

    def __init__(self, schema: Any, registry: Mapping[str, Any], *, narrows: bool = False) -> None:
        self._registry = registry
        self._documents: list[Document] = []
        self._resources: dict[str, Resource] = {}
        self._identities: dict[tuple[int, int], tuple[Resource, Dialect]] = {}
        self._contexts: dict[tuple[int, ...], Context] = {}
        self._targets: dict[tuple[str, str, Context], Target] = {}
        self._dialects: dict[str, Dialect | None] = {}
        # Registry documents by their own identifiers; built on first use.
        self._identified_documents: dict[str, Any] | None = None
        self.unknown_drafts: dict[str, None] = {}
        self._default = DEFAULT
        resource = self._open(schema, "", ("",))
        self._default = resource.dialect
        scope = (resource,) if resource.dialect.year >= 2019 else ()
        self.root = self._context(resource, resource.dialect, scope, narrows)

    def entered(self, schema: Any, context: Context, location: Location) -> Context:
        """Return the context within a subschema, given the enclosing one."""
        if not isinstance(schema, dict) or not ("$id" in schema or "$schema" in schema or "id" in schema):
            return context
        resource, dialect = self._identified(schema, context.resource, context.dialect, location)
        return self._enter(context, resource, dialect)

    def resolve(self, keyword: str, reference: str, context: Context, location: Location) -> Target:
        """Return the target of a reference in a context.

        Parameters
        ----------
        keyword : {"$ref", "$dynamicRef", "$recursiveRef"}
        reference : str
        context : Context
        location : Location
            Location of the referring schema, for errors.

        Raises
        ------
        SchemaError
            The reference has no target.
        """
        memo = (keyword, reference, context)
        target = self._targets.get(memo)
        if target is None:
            target = self._target(reference, context, location, keyword)
            if keyword == "$dynamicRef":
                target = self._dynamic(split_fragment(reference)[1], "$dynamicAnchor", target, context)
            elif keyword == "$recursiveRef":
                target = self._dynamic(RECURSIVE, RECURSIVE, target, context)
            self._targets[memo] = target
        return target

    def _target(self, reference: str, context: Context, location: Location, keyword: str) -> Target:
        uri, fragment = split_fragment(reference)
        resource: Resource | None = context.resource
        if uri:
            resource = self._resource(resolve_uri(context.resource.uri, uri))
        if resource is None:
            full = resolve_uri(context.resource.uri, uri)
            read = f", read as {full!r}," if full != uri else ""
            hint = self._meant(reference, context)
            reason = f"{reference!r}{read} is neither in the schema nor in the registry (nothing is fetched){hint}"
            raise SchemaError(reason, pointer_of(location), keyword)
        fragment = unquote(fragment)
        if not fragment:
            return Target(resource.schema, self._enter(context, resource, resource.dialect), resource.location)
        if fragment.startswith("/"):
            found = self._follow(fragment, resource, context, resource.dialect)
        else:
            index(resource.document, self._identified)
            named = resource.anchors.get(fragment)
            inner = self._enter(context, resource, resource.dialect)
            found = None if named is None else Target(named[0], inner, named[1])
        if found is None:
            hint = self._meant(reference, context)
            raise SchemaError(f"{reference!r} cannot be resolved{hint}", pointer_of(location), keyword)
        return found

    def _meant(self, reference: str, context: Context) -> str:
        """Advise a reference within the document that lacks its ``#/``, or the holder of a definition."""
        resource, bare = context.resource, unquote(reference).lstrip("#/")
        for pointer in (bare, *(f"{holder}/{bare}" for holder in ("$defs", "definitions"))):
            if bare and self._follow(f"/{pointer}", resource, context, resource.dialect) is not None:
                return f"; did you mean '#/{pointer}'?"
        return ""

    def _follow(self, pointer: str, resource: Resource, context: Context, dialect: Dialect) -> Target | None:
        """Follow a JSON Pointer through nested resources; only the last one is entered."""
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
        """Return the outermost schema of the scope with this dynamic anchor, if the target itself has it."""
        wanted = True if keyword == RECURSIVE else name
        if not isinstance(target.schema, dict) or target.schema.get(keyword) != wanted:
            return target
        for resource in (*context.scope, target.context.resource):
            index(resource.document, self._identified)
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
            index(document, self._identified)
        found = self._resources.get(uri)
        if found is None:
            schema = self._document(uri)
            if schema is not None:
                found = self._resources[uri] = self._open(schema, uri, (uri,))
        return found

    def _document(self, uri: str) -> Any:
        """Return a registry document by its key or identifier, or a metaschema; None if there is none."""
        found = self._registered(uri)
        return metaschema(uri) if found is None else found

    def _registered(self, uri: str) -> Any:
        """Return a registry document by its key or identifier, with or without ``#``; None if there is none."""
        bare = uri.removesuffix("#")
        for spelled in (bare, f"{bare}#"):
            if spelled in self._registry:
                return self._registry[spelled]
        if self._identified_documents is None:
            self._identified_documents = {}
            for schema in self._registry.values():
                identifier = schema.get("$id", schema.get("id")) if isinstance(schema, Mapping) else None
                if isinstance(identifier, str):
                    self._identified_documents.setdefault(identifier.removesuffix("#"), schema)
        return self._identified_documents.get(bare)

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
        """Return the resource and dialect of a subschema, given the enclosing ones; the first result is kept."""
        if schema is outer.schema:
            return outer, outer.dialect
        # Why: the first result is kept, since a $schema may change the dialect within a part and give the part's own id a meaning.
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
        if not isinstance(name, str):
            if name is not None:
                self.unknown_drafts[shown(name)] = None
            return around
        found = self._dialect(name, location)
        if found is None:
            self.unknown_drafts[name] = None
        return found or around

    def _dialect(self, uri: str, location: Location) -> Dialect | None:
        """Return the dialect of a ``$schema``; None if unknown."""
        chain = []
        found = known_dialect(uri)
        while found is None and uri not in self._dialects:
            schema = self._registered(uri)
            self._dialects[uri] = None
            if not isinstance(schema, dict):
                return None
            vocabularies = schema.get("$vocabulary")
            chain.append((uri, vocabularies))
            if isinstance(vocabularies, dict) and "$schema" not in schema:
                found = dialect_of_vocabularies(vocabularies)
                break
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
        return self._context(resource, dialect, scope, context.narrows)

    def opened(self, context: Context) -> Context:
        """Return the same context for a schema that only tests a value: no option narrows it."""
        return self._context(context.resource, context.dialect, context.scope, False) if context.narrows else context

    def _scope(self, resources: tuple[Resource, ...]) -> tuple[Resource, ...]:
        """Return the resources that bind a dynamic anchor not bound by an earlier one."""
        bound: set[str] = set()
        kept = []
        for resource in resources:
            index(resource.document, self._identified)
            if not bound.issuperset(resource.dynamic):
                bound.update(resource.dynamic)
                kept.append(resource)
        return tuple(kept)

    def _context(self, resource: Resource, dialect: Dialect, scope: tuple[Resource, ...], narrows: bool) -> Context:
        key = (narrows, id(resource), id(dialect), *map(id, scope))
        found = self._contexts.get(key)
        if found is None:
            found = self._contexts[key] = Context(resource, dialect, scope, narrows)
        return found
