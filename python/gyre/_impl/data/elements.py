"""What elements of datasets are: structures of tensors, and what is known of them beforehand."""

from gyre import _gyre
from gyre._impl import nest
from gyre._impl.convert import call, convert_to_tensor, dims_tensor
from gyre._impl.spec import TensorSpec, TypeSpec, type_spec_from_value


def is_structure(value) -> bool:
    """Whether elements keep it as a structure: tuples and dicts; a list is a tensor."""
    return nest.is_nested(value) and not isinstance(value, list)


def as_element(value):
    """A structure whose leaves are tensors and composites. TypeError for what is no tensor."""
    if is_structure(value):
        kind = nest._kind_of(value, False)
        return kind.build(value, [as_element(child) for _, child in kind.items(value)])
    if value is None or isinstance(getattr(value, "_type_spec", None), TypeSpec):
        return value
    return convert_to_tensor(value)


def spec_of(element):
    """The spec of each leaf."""
    return nest.map_structure(type_spec_from_value, element)


def map_specs(fn, spec):
    """The structure with fn(spec) for each leaf, which must be a TensorSpec."""
    return nest.map_structure(fn, spec)


def tensors_only(spec, what: str) -> None:
    """TypeError if an element holds anything but tensors."""
    for leaf in nest.flatten(spec):
        if not isinstance(leaf, TensorSpec):
            raise TypeError(f"{what} takes elements of tensors, not of {type(leaf).__name__}")


def zeros(spec):
    """An element of this spec that nobody reads: sizes that are not known are 0."""
    return nest.map_structure(_zeros, spec, expand_composites=True)


def _zeros(leaf: TensorSpec):
    dims = [d or 0 for d in leaf._dims or ()]
    empty = "" if leaf.dtype.name == "string" else False if leaf.dtype.is_bool else 0
    zero = _gyre.convert(empty, leaf.dtype)
    return call("Fill", dims_tensor(dims), zero) if dims else zero


def shapes_of(spec):
    """The shapes of a spec's tensors, as while_loop takes them for invariants."""
    return nest.map_structure(lambda leaf: leaf.shape, spec, expand_composites=True)


def refined(element, spec):
    """The element, known to have the shapes of its spec."""

    def refine(tensor, leaf):
        if tensor._dims == leaf._dims or leaf._dims is None:
            return tensor
        return call("EnsureShape", tensor, shape=list(leaf._dims))

    leaves = zip(
        nest.flatten(element, expand_composites=True),
        nest.flatten(spec, expand_composites=True),
        strict=True,
    )
    refined = [refine(tensor, leaf) for tensor, leaf in leaves]
    return nest.pack_sequence_as(element, refined, expand_composites=True)


def arguments_of(element) -> tuple:
    """What a user's function is called with: the parts of a tuple, or the element itself."""
    return element if type(element) is tuple else (element,)
