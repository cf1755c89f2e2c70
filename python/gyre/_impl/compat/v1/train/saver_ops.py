"""What a Saver adds to a graph: the operations that write a checkpoint and read one."""

from gyre import _gyre
from gyre._impl.compat.v1.group import group
from gyre._impl.compat.v1.variable import RefVariable
from gyre._impl.convert import call
from gyre._impl.graphs.constant import constant, placeholder_with_default
from gyre._impl.graphs.graph import current
from gyre._impl.shape import TensorShape
from gyre._impl.variable import Variable


def _keys(variables: dict) -> tuple[list[str], list[str]]:
    """Names in the checkpoint, and which part of them each variable is.
    TypeError for what is no variable."""
    keys, slices = [], []
    for name, variable in variables.items():
        if not isinstance(variable, Variable):
            raise TypeError(f"'{name}' is a {type(variable).__name__}: a Saver saves variables")
        part = getattr(variable, "_save_slice_info", None)
        keys.append(name if part is None else part.full_name)
        slices.append("" if part is None else part.spec)
    return keys, slices


def add_saver_ops(
    variables: dict, reshape: bool, name: str | None, filename: str | None
) -> dict[str, str]:
    """Adds them for {name: variable} to the default graph, under the names that TensorFlow gives
    them. Returns the fields of a SaverDef that name them."""
    graph = current()
    keys, slices = _keys(variables)
    values = list(variables.values())
    with graph.main_scope(), graph.name_scope(name or "save"):
        default = constant(filename or "model", name="filename/input")
        prefix = placeholder_with_default(default, (), "filename")
        prefix = placeholder_with_default(prefix, (), "Const")
        read = [variable.read_value() for variable in values]
        _gyre.execute(
            "SaveV2", [prefix, *_named_strings("SaveV2", keys, slices), read], {}, "SaveV2"
        )
        with graph.control_dependencies([graph.last_operation()]):
            saved = call("Identity", prefix, name="control_dependency")
        restored = _gyre.execute(
            "RestoreV2",
            [prefix, *_named_strings("RestoreV2", keys, slices)],
            {"dtypes": [variable.dtype for variable in values]},
            "RestoreV2",
        )
        assigned = [
            _assign(variable, value, reshape)
            for variable, value in zip(values, restored, strict=True)
        ]
        restore = group(*assigned, name="restore_all")
    return {
        "filename_tensor_name": prefix.name,
        "save_tensor_name": saved.name,
        "restore_op_name": restore.name,
    }


def _named_strings(op: str, keys: list[str], slices: list[str]) -> list:
    return [
        constant(keys, "string", name=f"{op}/tensor_names"),
        constant(slices, "string", name=f"{op}/shape_and_slices"),
    ]


def _assign(variable, value, reshape: bool):
    """The operation that gives a variable what was restored."""
    dims = variable.shape.as_list() if variable.shape.rank is not None else None
    if dims is not None and None not in dims:
        if reshape:
            value = call("Reshape", value, constant(dims, "int32", [len(dims)]))
        elif not isinstance(variable, RefVariable):  # Assign checks that by itself
            value = call("EnsureShape", value, shape=dims, name="EnsureShape")
    if isinstance(variable, RefVariable):
        return variable.assign(value, name="Assign", read_value=False)
    _gyre.execute(
        "AssignVariableOp", [variable.handle, value], {"dtype": variable.dtype}, "AssignVariableOp"
    )
    return current().last_operation()


def save_eagerly(variables: dict, prefix: str) -> None:
    """Writes the values that variables have now."""
    keys, slices = _keys(variables)
    _gyre.execute(
        "SaveV2",
        [
            _gyre.convert(prefix),
            _strings(keys),
            _strings(slices),
            [variable.read_value() for variable in variables.values()],
        ],
        {},
    )


def restore_eagerly(variables: dict, prefix: str, reshape: bool) -> None:
    """Gives variables the values of a checkpoint. ValueError for one of another shape; then, as for
    a value that is missing, none has changed."""
    keys, slices = _keys(variables)
    values = _gyre.execute(
        "RestoreV2",
        [_gyre.convert(prefix), _strings(keys), _strings(slices)],
        {"dtypes": [variable.dtype for variable in variables.values()]},
    )
    if reshape:
        values = [
            call("Reshape", value, _gyre.convert(variable.shape.as_list()))
            for variable, value in zip(variables.values(), values, strict=True)
        ]
    for (name, variable), value in zip(variables.items(), values, strict=True):
        if not TensorShape(variable.shape).is_compatible_with(value.shape):
            raise ValueError(
                f"{prefix} has '{name}' of shape {value.shape}, but the variable has "
                f"{variable.shape}"
            )
    for variable, value in zip(variables.values(), values, strict=True):
        variable.assign(value)


def _strings(texts: list[str]):
    return _gyre.convert(texts, _gyre.as_dtype("string"))
