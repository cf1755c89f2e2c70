"""Functions of one row, each with rows for it: what is batched, and what becomes a loop."""

from dataclasses import dataclass

import numpy as np

import gyre


@dataclass
class Case:
    """fn: of a row. elems: its rows. loops: the ops that run row by row.
    exact: equal to map_fn's bits."""

    name: str
    fn: object
    elems: tuple
    loops: tuple = ()
    exact: bool = True


CASES = []
_draw = np.random.RandomState(7)


def floats(*shape):
    return _draw.uniform(-2, 2, shape).astype(np.float32)


def ints(*shape, high=3):
    return _draw.randint(0, high, shape).astype(np.int32)


def case(name, fn, *elems, loops=(), exact=True):
    CASES.append(Case(name, fn, elems, tuple(loops), exact))


V, M, T = floats(5, 4), floats(5, 3, 4), floats(5, 2, 3, 4)  # rows that are vectors, matrices, more
S, S2, V2, M2 = floats(5), floats(5), floats(5, 4), floats(5, 3, 4)
W, B, C3 = gyre.constant(floats(4, 3)), gyre.constant(floats(4)), gyre.constant(floats(2, 3, 4))

# ---- Elementwise, of equal and of unequal ranks

for unary in [
    "abs",
    "exp",
    "tanh",
    "sigmoid",
    "sin",
    "square",
    "negative",
    "sign",
    "floor",
    "zeros_like",
    "ones_like",
    "identity",
    "stop_gradient",
]:
    case(unary, getattr(gyre, unary), M)
for unary in [
    "relu",
    "relu6",
    "elu",
    "selu",
    "softplus",
    "leaky_relu",
    "softmax",
    "log_softmax",
    "gelu",
]:
    case(f"nn.{unary}", getattr(gyre.nn, unary), V)
for binary in ["add", "subtract", "multiply", "maximum", "minimum", "truediv"]:
    op = getattr(gyre, binary)
    case(f"{binary} of two", op_of := (lambda op: lambda p, q: op(p, q))(op), V, V2)
    case(f"{binary} of scalar and matrix", op_of, S, M)
    case(f"{binary} of matrix and vector", op_of, M, V)
    case(f"{binary} of vector and more", op_of, V, T)
    case(f"{binary} with one for all", (lambda op: lambda p: op(p, C3))(op), V)
    case(f"{binary} with a lower one for all", (lambda op: lambda p: op(B, p))(op), M)
    case(f"{binary} with a number", (lambda op: lambda p: op(p, 2.0))(op), S)
for compare in ["less", "greater_equal", "equal", "not_equal"]:
    case(
        compare,
        (lambda op: lambda p, q: op(p, q))(getattr(gyre, compare)),
        ints(5, 4),
        ints(5, 3, 4),
    )
case("pow", lambda p: p**2, V)
case("squared difference", lambda p: gyre.math.squared_difference(p, B), M)
case("logic", lambda p: gyre.logical_and(p > 0, gyre.logical_not(p > 1)), V)
case("where", lambda p, q: gyre.where(p > 0, p, q), M, V)
case("where of a condition for all", lambda p, q: gyre.where(B > 0, p, q), V, S)
case("clip", lambda p: gyre.clip_by_value(p, -1.0, 1.0), M)
case("cast", lambda p: gyre.cast(p, gyre.int32), V)
case("complex", lambda p, q: gyre.complex(p, q), V, V2)
case("add_n", lambda p, q: gyre.add_n([p, q, B]), V, V2)
case("integers", lambda p, q: p // (q + 1) + p % (q + 1), ints(5, 4), ints(5, 4))
case("bitcast", lambda p: gyre.bitcast(p, gyre.int32), V)
case("strings", lambda p: gyre.strings.join([gyre.as_string(p), gyre.constant("x")]), ints(5, 4))
case("same for all rows", lambda p: gyre.exp(B), V)
case("a number for all rows", lambda p: 3, V)

# ---- Reductions and axes

for reduction in ["reduce_sum", "reduce_mean", "reduce_max", "reduce_min", "reduce_prod"]:
    op = getattr(gyre, reduction)
    case(reduction, op, M, exact=reduction in ("reduce_max", "reduce_min"))
    for axis in [0, 1, -1, (0, -1)]:
        case(
            f"{reduction} along {axis}",
            (lambda op, axis: lambda p: op(p, axis=axis))(op, axis),
            M,
            exact=False,
        )
    case(
        f"{reduction} keeps axes",
        (lambda op: lambda p: op(p, axis=-2, keepdims=True))(op),
        T,
        exact=False,
    )
case("reduce_all", lambda p: gyre.reduce_all(p > -1.5, axis=0), M)
case("reduce_any", lambda p: gyre.reduce_any(p > 1.5), M)
case("reduce_logsumexp", lambda p: gyre.reduce_logsumexp(p, axis=1), M, exact=False)
case("argmax", lambda p: gyre.argmax(p, axis=0), M)
case("argmin", lambda p: gyre.argmin(p, axis=-1), M)
case("cumsum", lambda p: gyre.cumsum(p, axis=0), M)
case("cumsum from the end", lambda p: gyre.cumsum(p, axis=-1, exclusive=True, reverse=True), M)
case("cumprod", lambda p: gyre.math.cumprod(p, axis=1), M)
case("l2_loss", gyre.nn.l2_loss, M, exact=False)
case("norm", gyre.norm, M, exact=False)
case("moments", lambda p: gyre.nn.moments(p, axes=[0]), M, exact=False)
case("top_k", lambda p: gyre.nn.top_k(p, 2), M)
case("sort", gyre.sort, V)

# ---- Shapes

case("reshape", lambda p: gyre.reshape(p, [4, 3]), M)
case("reshape to a vector", lambda p: gyre.reshape(p, [-1]), T)
case("reshape with a hole", lambda p: gyre.reshape(p, [2, -1, 2]), M)
case("reshape to a shape", lambda p: gyre.reshape(p, gyre.shape(p)[::-1]), M)
case("transpose", gyre.transpose, T)
case("transpose by axes", lambda p: gyre.transpose(p, [1, 0, 2]), T)
case("expand_dims", lambda p: gyre.expand_dims(p, 0), V)
case("expand_dims at the end", lambda p: gyre.expand_dims(p, -1), M)
case("expand_dims of a scalar", lambda p: gyre.expand_dims(p, -1), S)
case("squeeze", lambda p: gyre.squeeze(p, [1]), floats(5, 3, 1, 2))
case("squeeze from the end", lambda p: gyre.squeeze(p, [-1]), floats(5, 3, 1))
case(
    "shape",
    lambda p: gyre.cast(gyre.shape(p), gyre.float32) * gyre.reduce_sum(p[0]),
    M,
    exact=False,
)
case("rank", lambda p: gyre.cast(gyre.rank(p), gyre.float32) * p, M)
case("size", lambda p: gyre.cast(gyre.size(p), gyre.float32) * p, M)
case("broadcast_to", lambda p: gyre.broadcast_to(p, [2, 3, 4]), V)
case("fill", lambda p: gyre.fill([2, 3], p), S)
case("tile", lambda p: gyre.tile(p, [2, 3]), M)
case("pad", lambda p: gyre.pad(p, [[1, 0], [0, 2]]), M)
case("pad with a value", lambda p: gyre.pad(p, [[1, 1]], constant_values=9.0), V)
case("mirror pad", lambda p: gyre.pad(p, [[1, 1], [2, 0]], mode="REFLECT"), M)
case("concat", lambda p, q: gyre.concat([p, q, C3[0]], axis=0), M, M2)
case("concat at the end", lambda p, q: gyre.concat([p, q], axis=-1), M, M2)
case("stack", lambda p, q: gyre.stack([p, q, B], axis=0), V, V2)
case("stack at the end", lambda p, q: gyre.stack([p, q], axis=-1), V, V2)
case("unstack", lambda p: gyre.unstack(p, num=4, axis=1), M)
case("split", lambda p: gyre.split(p, 2, axis=1), M)
case("split by sizes", lambda p: gyre.split(p, [1, 3], axis=-1), M)
case("reverse", lambda p: gyre.reverse(p, [0]), M)
case("roll", lambda p: gyre.roll(p, 1, axis=0), M)
case("one_hot", lambda p: gyre.one_hot(p, 3), ints(5, 4))
case("one_hot along an axis", lambda p: gyre.one_hot(p, 3, axis=0), ints(5, 4))
case("ensure_shape", lambda p: gyre.ensure_shape(p, [None, 4]), M)
case("diag", gyre.linalg.diag, V)
case("diag_part", gyre.linalg.diag_part, M)

# ---- Slices, gathers, scatters

case("slice", lambda p: gyre.slice(p, [1, 0], [2, -1]), M)
case("item", lambda p: p[1], M)
case("items from the end", lambda p: p[..., -1], T)
case("strided", lambda p: p[::-1, 1:3], M)
case("new axis", lambda p: p[gyre.newaxis, :, 0], M)
case("item of the row's own index", lambda p, i: p[i], V, ints(5))
case("item of a table", lambda i: B[i], ints(5))
case("gather of rows", lambda p: gyre.gather(p, [2, 0]), M)
case("gather along an axis", lambda p: gyre.gather(p, [3, 0, 0], axis=1), M)
case("gather from a table", lambda i: gyre.gather(W, i), ints(5, 2))
case("gather from a table along an axis", lambda i: gyre.gather(C3, i, axis=1), ints(5, 2, 2))
case("gather from a table from the end", lambda i: gyre.gather(C3, i, axis=-1), ints(5))
case("gather of both", lambda p, i: gyre.gather(p, i), M, ints(5, 2))
case("gather of both along an axis", lambda p, i: gyre.gather(p, i, axis=-1), M, ints(5, 2))
case("gather in batches", lambda p, i: gyre.gather(p, i, axis=1, batch_dims=1), M, ints(5, 3, 2))
case(
    "gather in batches from a table",
    lambda i: gyre.gather(C3, i, axis=1, batch_dims=1),
    ints(5, 2, 2),
)
case("gather_nd", lambda p: gyre.gather_nd(p, [[0, 1], [2, 3]]), M)
case("gather_nd from a table", lambda i: gyre.gather_nd(C3, i), ints(5, 4, 2, high=2))
case("gather_nd of both", lambda p, i: gyre.gather_nd(p, i), M, ints(5, 2, 1))
case("scatter_nd", lambda p: gyre.scatter_nd([[1], [3]], p[:2], [5]), V)
case("scatter_nd of both", lambda p, i: gyre.scatter_nd(i, p, [5]), V, ints(5, 4, 1), exact=False)
case("tensor_scatter_nd_add", lambda p, q: gyre.tensor_scatter_nd_add(p, [[0], [0]], q[:2]), V, V2)
case(
    "tensor_scatter_nd_update",
    lambda p, i: gyre.tensor_scatter_nd_update(p, i, [7.0]),
    V,
    ints(5, 1, 1),
)
case("unsorted_segment_sum", lambda p: gyre.math.unsorted_segment_sum(p, [0, 2, 0], 4), M)
case(
    "unsorted_segment_max of both",
    lambda p, i: gyre.math.unsorted_segment_max(p, i, 3),
    V,
    ints(5, 4),
)
case(
    "unsorted_segment_sum without some",
    lambda p, i: gyre.math.unsorted_segment_sum(p, i - 1, 3),
    V,
    ints(5, 4),
)

case("segment_sum", lambda p: gyre.math.segment_sum(p, [0, 0, 2]), M)
case("segment_mean of vectors", lambda p: gyre.math.segment_mean(p, [0, 1, 1, 1]), V, exact=False)

# ---- Products

case("matmul with one for all", lambda p: gyre.matmul(p, W), M, exact=False)
case(
    "matmul with one for all, transposed",
    lambda p: gyre.matmul(p, W, transpose_b=True),
    floats(5, 2, 3),
    exact=False,
)
case("matmul from the left", lambda p: gyre.matmul(W, p), M, exact=False)
case("matmul of both", lambda p, q: gyre.matmul(p, q, transpose_b=True), M, M2, exact=False)
case("matmul of transposed", lambda p: gyre.matmul(p, C3[0], transpose_a=True), M, exact=False)
case(
    "matmul of complex transposed",
    lambda p, q: gyre.matmul(gyre.complex(p, p * 2), gyre.complex(q, p), transpose_b=True),
    M,
    M2,
    exact=False,
)
case(
    "matmul of complex adjoints",
    lambda p: gyre.matmul(
        gyre.complex(p, p * 2), gyre.complex(W, W), adjoint_a=True, adjoint_b=True
    ),
    floats(5, 3, 2),
    exact=False,
)
case("matmul of batches", lambda p: gyre.matmul(p, W), T, exact=False)
case(
    "matmul of unequal batches", lambda p, q: gyre.matmul(p, q, transpose_b=True), T, M, exact=False
)
case("matvec", lambda p: gyre.linalg.matvec(W, p, transpose_a=True), V, exact=False)
case("tensordot", lambda p, q: gyre.tensordot(p, q, 1), V, V2, exact=False)
case("einsum", lambda p: gyre.einsum("ij,jk->ki", p, W), M, exact=False)
case("einsum of both", lambda p, q: gyre.einsum("ij,kj->ik", p, q), M, M2, exact=False)
case("einsum of batches", lambda p: gyre.einsum("...ij,jk->...ik", p, W), T, exact=False)
case("linear layer", lambda p: gyre.tanh(gyre.matmul(p[None], W)[0] + 1.0), V, exact=False)
case("bias_add", lambda p, q: gyre.nn.bias_add(p, q), M, V)
case("bias_add for all", lambda p: gyre.nn.bias_add(p, B), M)
case(
    "cross entropy",
    lambda p, q: gyre.nn.softmax_cross_entropy_with_logits(gyre.nn.softmax(p), q),
    M,
    M2,
    exact=False,
)
case(
    "sparse cross entropy",
    lambda p, i: gyre.nn.sparse_softmax_cross_entropy_with_logits(i, p),
    M,
    ints(5, 3),
    exact=False,
)
case(
    "cholesky",
    lambda p: gyre.linalg.cholesky(gyre.matmul(p, p, transpose_b=True) + gyre.eye(3)),
    M,
    exact=False,
)

# ---- Structured control flow

case(
    "cond on what is the same",
    lambda p: gyre.cond(gyre.reduce_sum(B) > 0, lambda: p * 2, lambda: p - 1),
    V,
)
case(
    "cond with a branch that is the same",
    lambda p: gyre.cond(gyre.reduce_sum(B) > 0, lambda: B, lambda: p),
    V,
)
case(
    "switch_case",
    lambda p: gyre.switch_case(gyre.size(p) - 3, [lambda: p, lambda: p * 2, lambda: p * 3]),
    V,
)
case(
    "while",
    lambda p: gyre.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * p + 1), (0, p))[1],
    V,
)
case(
    "while that comes to differ",
    lambda p: gyre.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b, b + p), (0, B, B))[
        1
    ],
    V,
)
case("map_fn inside", lambda p: gyre.map_fn(lambda q: gyre.reduce_sum(q * B), p), M, exact=False)
case(
    "map_fn over what is the same",
    lambda p: gyre.map_fn(lambda q: q * p, gyre.constant([1.0, 2.0])),
    V,
)
case("scan inside", lambda p: gyre.scan(lambda a, x: a * 0.5 + x, p), M)
case("foldl inside", lambda p: gyre.foldl(lambda a, x: a + x, p), M)
case("vectorized_map inside", lambda p: gyre.vectorized_map(lambda q: q * B + 1, p), M)


def plain(row):
    total = gyre.zeros([4])
    for k in gyre.range(3):
        total += row[k] * gyre.cast(k + 1, gyre.float32)
    if gyre.size(row) > 5:
        total = total * 2
    return total


case("plain Python", plain, M)


@gyre.function
def called(p):
    return p * p + 1


case("a function", lambda p: called(p) + called(p[:1]), V)


def array(row):
    ta = gyre.TensorArray(gyre.float32, size=3, element_shape=[4])
    for k in gyre.range(3):
        ta = ta.write(k, row[2 - k] * 2)
    return ta.stack(), ta.read(1), ta.gather([2, 0])


case("TensorArray", array, M)


@gyre.custom_gradient
def scaled(p, w):
    return p * w, lambda dy: (dy * w * 3, gyre.reduce_sum(dy * p) + gyre.zeros_like(w))


case("custom gradient", lambda p: scaled(p, B[0]) + p, V)
case("custom gradient of two", scaled, V, S)


@gyre.custom_gradient
def chosen(flag, number, p):
    return gyre.where(flag, p, -p) * gyre.cast(number, gyre.float32), lambda dy: (
        flag,
        number,
        dy * 2,
    )


case(
    "custom gradient of what has none",
    lambda p: chosen(gyre.constant(True), gyre.constant(3), p),
    V,
)

# ---- Other dtypes

for dtype in ["float64", "float16", "bfloat16", "int64", "uint8", "complex128"]:
    case(
        f"sums and products of {dtype}",
        (
            lambda dtype: (
                lambda p: gyre.reduce_sum(gyre.cast(p, dtype) * gyre.cast(p[0], dtype), axis=0)
            )
        )(dtype),
        ints(5, 3, 4),
    )
for dtype in ["float64", "float16", "bfloat16", "int64", "complex64"]:
    case(
        f"matmul of {dtype}",
        (
            lambda dtype: (
                lambda p: gyre.matmul(gyre.cast(p, dtype), gyre.cast([[1], [0], [2], [1]], dtype))
            )
        )(dtype),
        ints(5, 3, 4),
    )
case("bools", lambda p: gyre.reshape(gyre.concat([p > 0, [True]], 0)[::-1], [-1, 1]), V)
case("gather of strings", lambda i: gyre.gather(gyre.constant(["a", "bc", ""]), i), ints(5, 2))

# ---- Gradients in a row


def gradient_of(f, *shared):
    """The gradients, in each row, by the row and by what is the same for all."""

    def fn(*row):
        with gyre.GradientTape() as tape:
            tape.watch([r for r in row if r.dtype.is_floating] + list(shared))
            y = f(*row)
        return tape.gradient(y, [row[0], *shared])

    return fn


case(
    "gradient of a layer",
    gradient_of(lambda p: gyre.reduce_sum(gyre.tanh(p @ W) ** 2), W),
    M,
    exact=False,
)
case(
    "gradient of a biased layer",
    gradient_of(lambda p: gyre.nn.relu(gyre.nn.bias_add(p, B)), B),
    M,
    exact=False,
)
case(
    "gradient of a softmax",
    gradient_of(lambda p: gyre.reduce_max(gyre.nn.softmax(p * B)), B),
    M,
    exact=False,
)
case("gradient of a norm", gradient_of(lambda p: gyre.norm(p - B, axis=0), B), M, exact=False)
case("gradient of a slice", gradient_of(lambda p: p[::2, 1] * p[0, 0]), M)
case("gradient of a gather", gradient_of(lambda p: gyre.gather(p, [1, 1], axis=1) ** 2), M)
case(
    "gradient of what is stacked",
    gradient_of(lambda p: gyre.stack([p, gyre.concat([p[1:], B[:1]], 0)]) ** 2, B),
    V,
)
case(
    "gradient of a cross entropy",
    gradient_of(lambda p, i: gyre.nn.sparse_softmax_cross_entropy_with_logits(i, p * B), B),
    M,
    ints(5, 3),
    exact=False,
)
case(
    "gradient of a loop",
    gradient_of(
        lambda p: gyre.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, gyre.tanh(x) * p + B), (0, p)
        )[1],
        B,
    ),
    V,
    exact=False,
)
case(
    "gradient of a cond",
    gradient_of(
        lambda p: gyre.cond(gyre.reduce_sum(B) > 0, lambda: p * p * B, lambda: gyre.exp(p) * B), B
    ),
    V,
    exact=False,
)
case(
    "gradient of a scan",
    gradient_of(lambda p: gyre.scan(lambda a, x: a * x * B, p), B),
    M,
    exact=False,
)

# ---- Structures

case("no structure to speak of", lambda p: (), V)
case("a dict", lambda p: {"a": p, "b": (p[0], [p * 2])}, V)

# ---- What runs row by row

case(
    "cond on the row",
    lambda p: gyre.cond(p > 0, lambda: p * 2, lambda: p - 1),
    S,
    loops=["StatelessIf"],
)
case(
    "while on the row",
    lambda p: gyre.while_loop(lambda x: x < 9.0, lambda x: x + 3.0, (p,)),
    S,
    loops=["StatelessWhile"],
)
case(
    "slice at the row's own place",
    lambda p, i: gyre.slice(p, i, [2]),
    V,
    ints(5, 1),
    loops=["Slice"],
)
case("searchsorted", lambda p: gyre.searchsorted(gyre.constant([-1.0, 0.0, 1.0]), p), V)
case(
    "gradient of slices in a loop",
    gradient_of(lambda p: gyre.reduce_sum(array(p)[0] ** 2)),
    M,
    loops=["fn"],
)
case("values by a mask", lambda p: gyre.reduce_sum(gyre.boolean_mask(p, p > 0)), V, loops=["fn"])
case("places by a condition", lambda p: gyre.reduce_sum(gyre.where(p > 0)), M, loops=["fn"])
case("a range of the row's own", lambda i: gyre.reduce_sum(gyre.range(i)), ints(5), loops=["fn"])
case(
    "a condition on the row, of branches that differ",
    lambda p: gyre.reduce_sum(gyre.cond(p[0] > 0, lambda: p, lambda: p[:2])),
    V,
    loops=["fn"],
    exact=False,
)
