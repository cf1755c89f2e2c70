"""Models as SavedModels, which Gyre writes and TensorFlow and its servers read."""

from keras.src import layers, tree
from keras.src.export.export_utils import make_input_spec
from keras.src.utils import io_utils

import gyre


class ExportArchive:
    """Collects endpoints and variables, and writes them."""

    def __init__(self):
        self._layers = []
        self._endpoints = {}
        self._collections = {}

    @property
    def variables(self):
        return [one for layer in self._layers for one in layer.variables]

    @property
    def trainable_variables(self):
        return [one for layer in self._layers for one in layer.trainable_variables]

    @property
    def non_trainable_variables(self):
        return [one for layer in self._layers for one in layer.non_trainable_variables]

    def track(self, resource):
        if not isinstance(resource, layers.Layer):
            raise ValueError(
                "Invalid resource type. Expected a Keras `Layer` or `Model`. "
                f"Received object {resource} of type '{type(resource)}'. "
            )
        if not resource.built:
            raise ValueError(
                "The layer provided has not yet been built. It must be built before export."
            )
        self._layers.append(resource)

    def add_endpoint(self, name, fn, input_signature=None, **kwargs):
        if name in self._endpoints:
            raise ValueError(f"Endpoint name '{name}' is already taken.")
        if kwargs:
            raise ValueError(
                f"'jax2tf_kwargs' and 'is_static' are for the jax backend. Received: {kwargs}"
            )
        if input_signature is None:
            if not isinstance(fn, gyre.ConcreteFunction) and not getattr(
                fn, "input_signature", None
            ):
                raise ValueError(
                    "If the `fn` argument provided is not a `gyre.function` with an "
                    "`input_signature`, you must provide an `input_signature` argument."
                )
            self._endpoints[name] = fn
            return fn
        structure = tree.map_structure(make_input_spec, list(input_signature))
        self._endpoints[name] = _function(fn, structure)
        return self._endpoints[name]

    def track_and_add_endpoint(self, name, resource, input_signature, **kwargs):
        self.track(resource)
        call = getattr(resource, "__call__", resource)
        return self.add_endpoint(name, call, input_signature, **kwargs)

    def add_variable_collection(self, name, variables):
        if not isinstance(variables, (list, tuple, set)):
            raise ValueError(
                f"Expected `variables` to be a list/tuple/set. Received instead: {type(variables)}"
            )
        self._collections[name] = list(variables)

    def write_out(self, filepath, options=None, verbose=True):
        if not self._endpoints:
            raise ValueError("No endpoints have been set yet. Call add_endpoint().")
        kept = [one for several in self._collections.values() for one in several]
        variables = _by_path([*self.variables, *kept])
        signatures = dict(self._endpoints)
        signatures.setdefault("serving_default", next(iter(self._endpoints.values())))
        gyre.saved_model.save(variables, str(filepath), signatures=signatures, options=options)
        if verbose:
            names = ", ".join(f"'{name}'" for name in self._endpoints)
            io_utils.print_msg(f"Saved artifact at '{filepath}', with the endpoints {names}.")


def _by_path(variables):
    """Gyre's variables by their keys in the SavedModel: paths of Keras, which several may share."""
    found = {}
    for one in variables:
        path = one.path
        while found.get(path, one._value) is not one._value:
            path += "_1"
        found[path] = one._value
    return found


def _function(fn, structure):
    """A gyre.function of the leaves of the arguments, by their names."""
    leaves = tree.flatten(structure)
    names = [one.name or f"args_{place}" for place, one in enumerate(leaves)]
    if len(set(names)) < len(names):
        names = [f"args_{place}" for place in range(len(leaves))]
    specs = [
        gyre.TensorSpec(one.shape, one.dtype, name=name)
        for one, name in zip(leaves, names, strict=True)
    ]

    def endpoint(*tensors):
        found = fn(*tree.pack_sequence_as(structure, list(tensors)))
        return tuple(found) if isinstance(found, list) else found

    return gyre.function(endpoint, input_signature=specs, autograph=False)
