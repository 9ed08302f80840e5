"""Where tools come from: definitions of other systems, each read into `guided.calls.tool.Entry`."""
