"""Tools defined in other systems.

In: a document of OpenAPI or Swagger, botocore's data, or a list of definitions. Out: `guided.calls.tool.Entry`, one for
each operation. Invariant: a definition that cannot be converted is refused with its place.

Reading order: `documents` (detects the source), `rest`, `botocore`.
"""
