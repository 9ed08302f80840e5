"""Reading index files, including those of inventories, which `guided.engine.files` does not import."""

from guided.calls.inventory import Inventory
from guided.engine.files import add_stack_spec, load_index, read_index_file

__all__ = ["load_index", "read_index_file"]

add_stack_spec(Inventory)
