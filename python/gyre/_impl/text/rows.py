"""From a tensor of texts to a row of values for each: ragged, with the texts' own dimensions in
front."""

from gyre import _gyre
from gyre._impl.composites.ragged import RaggedTensor
from gyre._impl.convert import call, convert_to_tensor, rank_of

_INT64 = _gyre.as_dtype("int64")


def text_or_ragged(input):
    """A RaggedTensor as it is, all else as a tensor of strings."""
    return input if isinstance(input, RaggedTensor) else convert_to_tensor(input, "string")


def rows_of(input, function: str, take_apart):
    """`take_apart(vector)` gives lists of values, and row splits that part them into a row for each
    text of the vector. The result: these rows, in the places of the texts of `input`. Of a scalar:
    its row, a tensor."""
    if isinstance(input, RaggedTensor):
        flat = rows_of(input.flat_values, function, take_apart)
        return [input.with_flat_values(one) for one in flat]
    rank = rank_of(input, function, "input")
    if rank == 0:
        values, _ = take_apart(call("Reshape", input, [1]))
        return values
    if rank == 1:
        values, splits = take_apart(input)
        return [RaggedTensor(one, splits) for one in values]
    dims = call("Shape", input, out_type=_INT64)
    rows = rows_of(call("Reshape", input, [-1]), function, take_apart)
    before = call("Cumprod", dims, 0)
    for axis in range(rank - 1, 0, -1):
        count = call("AddV2", before[axis - 1], _gyre.convert(1, _INT64))
        steps = call("Range", _gyre.convert(0, _INT64), count, _gyre.convert(1, _INT64))
        splits = call("Mul", steps, dims[axis])
        rows = [RaggedTensor(one, splits) for one in rows]
    return rows
