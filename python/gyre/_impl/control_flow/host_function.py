"""py_function, numpy_function: Python as part of a graph."""

from gyre import _gyre
from gyre._impl import nest


def _types(Tout):
    """(flat dtypes, structure, whether there is a single result)."""
    if Tout is None:
        return [], None
    single = not isinstance(Tout, (list, tuple, dict))
    flat = [Tout] if single else nest.flatten(Tout)
    return [_gyre.as_dtype(getattr(part, "dtype", part)) for part in flat], Tout


def _pack(outputs, structure):
    if structure is None or isinstance(structure, (list, tuple)) and not structure:
        return outputs[0] if outputs else None
    if not isinstance(structure, (list, tuple, dict)):
        return outputs[0]
    return nest.pack_sequence_as(structure, outputs)


def _results(name, results, dtypes):
    """What the Python function returned, as tensors of the promised dtypes."""
    if results is None:
        leaves = []
    elif isinstance(results, (list, tuple, dict)) and not (
            len(dtypes) == 1 and not isinstance(results, dict) and not _holds_tensors(results)):
        leaves = nest.flatten(results)
    else:
        leaves = [results]
    if not dtypes:
        return []
    if len(leaves) != len(dtypes):
        raise ValueError(f"{name} returned {len(leaves)} values where Tout promises {len(dtypes)}")
    tensors = []
    for leaf, dtype in zip(leaves, dtypes):
        tensor = leaf if isinstance(leaf, _gyre.Tensor) else _gyre.convert(
            leaf, None if hasattr(leaf, "dtype") else dtype)
        if tensor.dtype != dtype:
            raise TypeError(f"{name} returned a {tensor.dtype.name} tensor where Tout promises {dtype.name}")
        tensors.append(tensor)
    return tensors


def _holds_tensors(results):
    return any(isinstance(leaf, _gyre.Tensor) for leaf in nest.flatten(results))


def _add(op, call, leaves, dtypes):
    token = _gyre.register_host_function(call)
    return _gyre.execute(op, [leaves], {"token": token, "Tout": dtypes})


def py_function(func=None, inp=None, Tout=None, name=None):
    """func(*inp), called by Python when the graph runs, with eager tensors.

    inp: tensors (structures of them are handed over as such). Tout: dtypes (or specs) of the results,
    structured as they are; None or [] for none. Effects keep their order. The function may be called
    from another thread. TypeError, ValueError if the results are not what Tout promises; what func
    raises comes out of the run."""
    inp = [] if inp is None else inp
    dtypes, structure = _types(Tout)
    label = name or getattr(func, "__name__", "py_function")
    if _gyre.current_graph() is None:
        arguments = nest.map_structure(_gyre.convert, list(inp))
        outputs = _results(label, func(*arguments), dtypes)
        return _pack(outputs, structure)
    inputs = nest.map_structure(_gyre.convert, list(inp))

    def call(tensors):
        return _results(label, func(*nest.pack_sequence_as(inputs, tensors)), dtypes)
    return _pack(_add("EagerPyFunc", call, nest.flatten(inputs), dtypes), structure)


def numpy_function(func=None, inp=None, Tout=None, stateful=True, name=None):
    """func(*inp), called by Python when the graph runs, with numpy arrays; returns arrays.

    Otherwise as py_function. No gradient goes through it."""
    del stateful
    inp = [] if inp is None else list(inp)
    dtypes, structure = _types(Tout)
    label = name or getattr(func, "__name__", "numpy_function")

    def call(tensors):
        return _results(label, func(*(tensor.numpy() for tensor in tensors)), dtypes)
    if _gyre.current_graph() is None:
        return _pack(call([_gyre.convert(value) for value in inp]), structure)
    return _pack(_add("PyFunc", call, [_gyre.convert(value) for value in inp], dtypes), structure)
