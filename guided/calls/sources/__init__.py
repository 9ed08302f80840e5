"""Sources of tools: definitions of other systems, each converted to `guided.calls.tool.Entry`."""
