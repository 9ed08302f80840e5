"""Documents of APIs, small ones that hold every kind of argument."""

from typing import Any

__all__ = ["OPENAPI", "SERVICE", "SWAGGER"]

OPENAPI: dict[str, Any] = {
    "openapi": "3.0.3",
    "paths": {
        "/pets/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}],
            "get": {
                "operationId": "getPet",
                "summary": "One pet.",
                "parameters": [
                    {"name": "id", "in": "query", "schema": {"type": "string", "nullable": True}},
                    {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"enum": ["name", "tag"]}}},
                    {"$ref": "#/components/parameters/Trace"},
                    {
                        "name": "session",
                        "in": "cookie",
                        "content": {"application/json": {"schema": {"type": "boolean"}}},
                    },
                ],
            },
            "put": {
                "parameters": [{"name": "body", "in": "header", "schema": {"type": "string", "maxLength": 2}}],
                "requestBody": {
                    "required": True,
                    "description": "The pet.",
                    "content": {
                        "text/xml": {"schema": {"type": "string"}},
                        "application/json; charset=utf-8": {"schema": {"$ref": "#/components/schemas/Pet"}},
                    },
                },
            },
        },
        "/pets": {"post": {"operationId": "add pet", "requestBody": {"$ref": "#/components/requestBodies/Form"}}},
        "/": {"get": {}},
        "x-note": 3,
    },
    "components": {
        "parameters": {
            "Trace": {"name": "X-Trace", "in": "header", "description": "An id.", "schema": {"type": "string"}}
        },
        "requestBodies": {
            "Form": {
                "content": {"multipart/form-data": {"schema": {"$ref": "#/components/schemas/Pet"}}, "text/plain": {}}
            }
        },
        "schemas": {
            "Pet": {
                "type": "object",
                "description": "A pet.",
                "required": ["id", "name"],
                "properties": {
                    "id": {"$ref": "#/components/schemas/Id"},
                    "name": {"type": "string", "description": "Its name."},
                    "tag": {"type": "string", "nullable": True, "enum": ["a", "b"]},
                    "young": {"type": "array", "items": {"$ref": "#/components/schemas/Pet", "maxItems": 0}},
                    "weight": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                },
                "additionalProperties": False,
            },
            "Id": {"type": "integer", "readOnly": True},
            "Unused": {"$ref": "https://example.org/elsewhere.json"},
        },
    },
}

SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "paths": {
        "/pets/{id}/photo": {
            "post": {
                "parameters": [
                    {"name": "id", "in": "path", "type": "integer", "format": "int64", "required": True},
                    {
                        "name": "sizes",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "integer"},
                        "collectionFormat": "csv",
                    },
                    {"name": "note", "in": "formData", "type": "string", "x-nullable": True},
                    {"name": "file", "in": "formData", "type": "file", "required": True},
                ]
            }
        },
        "/pets": {
            "put": {
                "operationId": "put_pet",
                "parameters": [
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                ],
            }
        },
    },
    "definitions": {
        "Pet": {"type": "object", "properties": {"like": {"$ref": "#/definitions/Pet"}}, "maxProperties": 1}
    },
}

SERVICE: dict[str, Any] = {
    "metadata": {"serviceId": "Small Service"},
    "operations": {
        "PutTree": {"input": {"shape": "PutTreeRequest"}, "documentation": "<p>Puts a tree.</p>"},
        "ListTrees": {},
    },
    "shapes": {
        "PutTreeRequest": {
            "type": "structure",
            "required": ["Tree"],
            "members": {
                "Tree": {"shape": "Tree", "documentation": "The tree."},
                "Names": {"shape": "Names"},
                "Kind": {"shape": "Kind"},
                "Count": {"shape": "Count", "documentation": "How many."},
                "When": {"shape": "When"},
                "One": {"shape": "One"},
            },
        },
        "Tree": {"type": "list", "member": {"shape": "Tree"}, "max": 2},
        "Names": {"type": "map", "key": {"shape": "Kind"}, "value": {"shape": "Name"}, "min": 1},
        "Name": {"type": "string", "min": 1, "max": 3},
        "Kind": {"type": "string", "enum": ["oak", "elm"]},
        "Count": {"type": "integer", "min": 0, "max": 9},
        "When": {"type": "timestamp"},
        "One": {"type": "structure", "members": {"A": {"shape": "Count"}, "B": {"shape": "Name"}}, "union": True},
    },
}
