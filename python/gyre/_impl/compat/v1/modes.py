"""The functions that programs set the switches with."""

from gyre import _gyre
from gyre._impl import shape
from gyre._impl.graphs.graph import start_default_graph, stop_default_graph
from gyre._impl.graphs.switches import modes
from gyre._impl.shape import Dimension


def enable_eager_execution(config=None, device_policy=None, execution_mode=None) -> None:
    """Ops run at once, as they do unless told otherwise. ValueError where that was turned off and
    the default graph has operations."""
    del config, device_policy, execution_mode
    if not modes.eager:
        if not stop_default_graph():
            raise ValueError(
                "enable_eager_execution must be called at the start of a program, not after "
                "operations were added to the default graph."
            )
        modes.eager = True


def disable_eager_execution() -> None:
    """From now on, ops are added to the default graph, and sessions run them."""
    if modes.eager:
        modes.eager = False
        start_default_graph()


def disable_v2_behavior() -> None:
    """As TensorFlow 1 was: no eager execution, reference variables, control flow as primitives in
    exported graphs, shapes of Dimension objects."""
    disable_eager_execution()
    disable_resource_variables()
    disable_control_flow_v2()
    disable_v2_tensorshape()


def enable_v2_behavior() -> None:
    """As TensorFlow 2 is. ValueError once eager execution was turned off."""
    enable_eager_execution()
    enable_resource_variables()
    enable_control_flow_v2()
    enable_v2_tensorshape()


def enable_resource_variables() -> None:
    """Variables are resources, unless a program says otherwise of one."""
    modes.resource_variables = True


def disable_resource_variables() -> None:
    """Variables are references, unless a program says otherwise of one."""
    modes.resource_variables = False


def resource_variables_enabled() -> bool:
    """Whether variables are resources where a program does not say."""
    return modes.resource_variables


def enable_control_flow_v2() -> None:
    """Graphs are exported with If, Case and While."""
    modes.control_flow_v2 = True


def disable_control_flow_v2() -> None:
    """Graphs are exported with Switch, Merge, Enter, Exit and NextIteration. (They run alike.)"""
    modes.control_flow_v2 = False


def control_flow_v2_enabled() -> bool:
    """Whether graphs are exported with If, Case and While."""
    return modes.control_flow_v2


def enable_v2_tensorshape() -> None:
    """Items of a TensorShape are numbers, or None."""
    modes.dimensions = False
    shape.show_sizes_as(None)


def disable_v2_tensorshape() -> None:
    """Items of a TensorShape are Dimension objects, whose `value` is a number, or None."""
    modes.dimensions = True
    shape.show_sizes_as(Dimension)


def executing_eagerly() -> bool:
    """Whether ops run at once here."""
    return _gyre.executing_eagerly()


def executing_eagerly_outside_functions() -> bool:
    """Whether ops run at once where no function is being traced."""
    return modes.eager


def enable_tensor_equality() -> None:
    """Eager tensors compare element by element, as they always do in Gyre."""


def disable_tensor_equality() -> None:
    """Tensors of graphs that sessions run compare by what they are, as they always do in Gyre;
    eager ones element by element, all the same."""


def output_all_intermediates(state) -> None:
    """Accepted, without effect: what a gradient needs of a construct is saved where it is
    needed."""
    del state
