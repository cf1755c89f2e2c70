"""x[i] with an i that is out of range is one class of errors: whether i is Python's or a tensor,
whether shapes are known, eagerly and in functions, read or assigned, of tensors and of lists."""

import pytest

import gyre

VECTOR = gyre.constant([1.0, 2.0, 3.0])
OPEN = [gyre.TensorSpec([None]), gyre.TensorSpec([], gyre.int32)]


def read(x, i):
    return x[i]


def read_row(x, i):
    return gyre.stack([x, x])[i]


def assigned(x, i):
    x[i] = 0.0
    return x


def read_variable(x, i):
    return gyre.Variable(x)[i]


def read_list(x, i):
    values = [x[0], x[1], x[2]]
    return values[i]


def read_grown(x, i):
    values = [x[0]]
    for k in gyre.range(2):
        values.append(x[k])
    return values[i]


def assigned_grown(x, i):
    values = [x[0]]
    for k in gyre.range(2):
        values.append(x[k])
    values[i] = x[0]
    return values[0]


EAGER = [read, read_row, read_variable]
TRACED = [read, read_row, assigned, read_list, read_grown, assigned_grown]


def check(run):
    with pytest.raises(gyre.errors.InvalidArgumentError) as found:
        run()
    assert isinstance(found.value, IndexError), found.value
    assert isinstance(found.value, ValueError)  # TensorFlow's, while tracing


@pytest.mark.parametrize("i", [3, -4])
@pytest.mark.parametrize("function", EAGER)
def test_eagerly(function, i):
    check(lambda: function(VECTOR, i))
    check(lambda: function(VECTOR, gyre.constant(i)))


@pytest.mark.parametrize("i", [3, -4])
@pytest.mark.parametrize("function", TRACED)
def test_in_functions(function, i):
    check(lambda: gyre.function(function)(VECTOR, gyre.constant(i)))
    check(lambda: gyre.function(function, input_signature=OPEN)(VECTOR, gyre.constant(i)))


@pytest.mark.parametrize("i", [3, -4])
@pytest.mark.parametrize("function", [read, read_row, assigned])
def test_constants_in_functions(function, i):
    check(lambda: gyre.function(lambda x: function(x, i))(VECTOR))
    check(lambda: gyre.function(lambda x: function(x, i), input_signature=OPEN[:1])(VECTOR))


def test_the_text_is_the_same_where_the_index_is_known():
    for run in (
        lambda: VECTOR[3],
        lambda: gyre.function(read)(VECTOR, gyre.constant(3)),
        lambda: gyre.function(lambda x: x[3])(VECTOR),
    ):
        with pytest.raises(IndexError, match="slice index 3 of dimension 0 out of bounds"):
            run()


def test_python_stops_where_it_asks_for_one_after_the_other():
    assert [float(x) for x in VECTOR] == [1.0, 2.0, 3.0]
