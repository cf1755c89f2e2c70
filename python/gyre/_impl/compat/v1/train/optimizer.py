"""Optimizer: from a loss to an operation that changes variables."""

from gyre import _gyre
from gyre._impl.compat.v1.gradients import gradients
from gyre._impl.compat.v1.group import group
from gyre._impl.compat.v1.group import tuple as gated
from gyre._impl.compat.v1.variable import RefVariable, Variable, trainable_variables
from gyre._impl.compat.v1.variable_scope import get_variable_scope
from gyre._impl.composites.indexed_slices import IndexedSlices
from gyre._impl.convert import call, convert_to_tensor
from gyre._impl.device import device
from gyre._impl.graphs.constant import constant, ones, zeros
from gyre._impl.graphs.graph import current, get_default_graph


class Optimizer:
    """What optimizers have in common. A kind of optimizer says how a gradient changes a variable:
    `_apply_dense(gradient, variable)` and `_apply_sparse(slices, variable)` return operations.

    Slots are variables that belong to others, such as moments; they are made with the first step.
    """

    GATE_NONE, GATE_OP, GATE_GRAPH = 0, 1, 2

    def __init__(self, use_locking, name: str):
        if not name:
            raise ValueError("Must specify the optimizer name")
        del use_locking
        self._name = name
        self._slots: dict[str, dict[int, Variable]] = {}
        self._others: dict = {}  # variables of a graph that belong to no other

    def get_name(self) -> str:
        """Its name, which its operations and slots have."""
        return self._name

    # ---- Steps

    def minimize(
        self,
        loss,
        global_step=None,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        name=None,
        grad_loss=None,
    ):
        """An operation that changes the variables once so that `loss` gets less. ValueError if no
        variable has a gradient. Arguments as compute_gradients and apply_gradients."""
        pairs = self.compute_gradients(
            loss,
            var_list,
            gate_gradients,
            aggregation_method,
            colocate_gradients_with_ops,
            grad_loss,
        )
        if not any(gradient is not None for gradient, _ in pairs):
            raise ValueError(
                f"No gradients provided for any variable, check your graph for ops that do not "
                f"support gradients, between variables {[str(v) for _, v in pairs]} and loss "
                f"{loss}."
            )
        return self.apply_gradients(pairs, global_step, name)

    def compute_gradients(
        self,
        loss,
        var_list=None,
        gate_gradients=GATE_OP,
        aggregation_method=None,
        colocate_gradients_with_ops=False,
        grad_loss=None,
    ) -> list:
        """[(gradient, variable)]: of var_list, or of all trainable variables. A gradient is a
        tensor, IndexedSlices, or None where the loss does not depend on the variable. grad_loss:
        the loss's weight.
        gate_gradients: GATE_GRAPH has all of them there before any is used."""
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH. Not {gate_gradients}"
            )
        if callable(loss) and not isinstance(loss, _gyre.Tensor):
            loss = loss()
        variables = (
            trainable_variables()
            if var_list is None
            else list(var_list if isinstance(var_list, (list, tuple)) else [var_list])
        )
        if not variables:
            raise ValueError("No variables to optimize.")
        found = gradients(
            loss,
            variables,
            grad_ys=grad_loss,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )
        if gate_gradients == self.GATE_GRAPH:
            found = gated(found)
        return list(zip(found, variables, strict=True))

    def apply_gradients(self, grads_and_vars, global_step=None, name=None):
        """An operation that changes each variable by its gradient; then `global_step`, a variable,
        is one more. ValueError if there is no gradient."""
        pairs = [(g, v) for g, v in grads_and_vars if g is not None]
        if not pairs:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in grads_and_vars]}."
            )
        graph = current()
        with graph.main_scope():
            self._create_slots([v for _, v in pairs])
        with graph.name_scope(name or self._name) as scope:
            self._prepare()
            updates = []
            for gradient, variable in pairs:
                with graph.name_scope("update_" + variable.op.name):
                    updates.append(self._update(gradient, variable))
            if global_step is None:
                train = self._finish(updates, scope)
            else:
                with graph.control_dependencies([self._finish(updates, "update")]):
                    train = global_step.assign_add(1, name=scope, read_value=False)
        train_ops = graph.get_collection_ref("train_op")
        if train not in train_ops:
            train_ops.append(train)
        return train

    def _update(self, gradient, variable):
        if isinstance(variable, RefVariable):
            raise NotImplementedError(
                f"optimizers change resource variables, and '{variable.name}' is a reference "
                "variable of an imported graph: run that graph's own training step, or assign_sub "
                "its gradient yourself"
            )
        if isinstance(gradient, IndexedSlices):
            update = self._apply_sparse(_without_duplicates(gradient), variable)
        else:
            gradient = convert_to_tensor(gradient, variable.dtype)
            update = self._apply_dense(gradient, variable)
        constraint = getattr(variable, "constraint", None)
        if constraint is None:
            return update
        with current().control_dependencies([update]):
            return variable.assign(constraint(variable.read_value()), read_value=False)

    # ---- What kinds of optimizers say

    def _create_slots(self, variables: list) -> None:
        """Makes what it keeps for variables."""

    def _prepare(self) -> None:
        """Makes tensors of its numbers, for one step."""

    def _apply_dense(self, gradient, variable):
        raise NotImplementedError(f"{type(self).__name__} does not say how it uses gradients")

    def _apply_sparse(self, slices, variable):
        """By default, as the tensor that the slices stand for."""
        return self._apply_dense(convert_to_tensor(slices), variable)

    def _finish(self, updates: list, name: str):
        return group(*updates, name=name)

    @staticmethod
    def _number(value, dtype, name: str):
        """A number of the step as a tensor of a variable's dtype."""
        value = (
            value()
            if callable(value) and not isinstance(value, (_gyre.Tensor, Variable))
            else value
        )
        tensor = (
            convert_to_tensor(value)
            if hasattr(value, "__gyre_tensor__") or isinstance(value, _gyre.Tensor)
            else constant(value, dtype, name=name)
        )
        return tensor if tensor.dtype == dtype else call("Cast", tensor, DstT=dtype)

    # ---- Slots

    def get_slot_names(self) -> list[str]:
        """The names of slots, in order."""
        return sorted(self._slots)

    def get_slot(self, var, name: str) -> Variable | None:
        """A slot of a variable; None if there is none."""
        return self._slots.get(name, {}).get(id(var))

    def variables(self) -> list[Variable]:
        """Its own variables: slots and others, by name."""
        own = [v for slots in self._slots.values() for v in slots.values()]
        own += [v for (_, graph), v in self._others.items() if graph is get_default_graph()]
        return sorted(own, key=lambda v: v.name)

    def _slot(self, variable, name: str, number: float = 0.0) -> Variable:
        """The slot of a variable, on its device: `number` everywhere at first."""
        slots = self._slots.setdefault(name, {})
        if id(variable) not in slots:
            dims, dtype = variable.shape.as_list(), variable.dtype

            def initial():
                if number in (0.0, 1.0):
                    return (ones if number else zeros)(dims, dtype)
                return call("Fill", constant(dims, "int32"), constant(number, dtype))

            around = get_variable_scope().name
            prefix = around + "/" if around else ""
            with device(variable.device or None):
                slots[id(variable)] = _at_root(
                    initial, f"{prefix}{variable.op.name}/{self._name}", dtype
                )
        return slots[id(variable)]

    def _other(self, name: str, value, dtype) -> Variable:
        """A variable of the graph that belongs to no other."""
        key = name, get_default_graph()
        if key not in self._others:
            self._others[key] = Variable(value, trainable=False, name=name, dtype=dtype)
        return self._others[key]


def _at_root(initial, name: str, dtype) -> Variable:
    graph = current()
    with graph.name_scope(None):
        return Variable(initial, trainable=False, full_name=name, dtype=dtype)


def _without_duplicates(slices: IndexedSlices) -> IndexedSlices:
    """The same slices, with rows that stand twice added up."""
    places, positions = _gyre.execute("Unique", [slices.indices])
    count = call("Reshape", call("Shape", places), constant([], "int32", [0]))
    values = call("UnsortedSegmentSum", slices.values, positions, count)
    return IndexedSlices(values, places, slices.dense_shape)
