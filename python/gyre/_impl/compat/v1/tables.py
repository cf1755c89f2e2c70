"""The operation that fills all tables of a graph."""

from gyre._impl.annotations import Any
from gyre._impl.compat.v1.group import group, no_op
from gyre._impl.graphs.graph import get_default_graph


def tables_initializer(name: str = "init_all_tables") -> Any:
    """The operation that fills all tables of the default graph."""
    operations = get_default_graph().get_collection("table_initializer")
    return group(*operations, name=name) if operations else no_op(name=name)
