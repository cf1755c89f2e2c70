"""RefVariable: a reference variable of a graph that was imported."""

from gyre import _gyre
from gyre._impl.convert import call
from gyre._impl.v1.graph import current
from gyre._impl.v1.variable import Variable

_AS_REFERENCE = {"AssignVariableOp": "Assign", "AssignAddVariableOp": "AssignAdd",
                 "AssignSubVariableOp": "AssignSub"}


class RefVariable(Variable):
    """A variable whose node (VariableV2) gives a reference, as TensorFlow 1 made them. It comes from a
    MetaGraph (train.import_meta_graph); variables that programs make are resources.

    Everything of a Variable, but for updates of single rows (NotImplementedError)."""

    def read_value(self):
        """The value that it has when this is computed: a tensor of its own."""
        return call("Identity", self.handle)

    __gyre_tensor__ = read_value

    def is_initialized(self, name=None):
        """Whether it has a value: a bool tensor."""
        return call("IsVariableInitialized", self.handle, name=name)

    def _written(self, op: str, inputs, attrs, name=None, read_value: bool = True):
        if op not in _AS_REFERENCE:
            raise NotImplementedError(f"variable '{self.name}' is a reference variable of an imported graph: it can "
                                      f"be assigned to, added to and subtracted from as a whole, not by {op}")
        graph = current()
        attrs = {"validate_shape": self._dims is not None} if op == "AssignVariableOp" else {}
        _gyre.execute(_AS_REFERENCE[op], [self.handle, *inputs], attrs, name)
        write = graph.last_operation()
        if not read_value:
            return write
        with graph.control_dependencies([write]):
            return self.read_value()
