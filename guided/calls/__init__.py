"""Tools: signatures, call formats as data, the language of calls, and the parser back to typed values."""
