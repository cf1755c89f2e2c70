"""What a condition of while_loop may return."""

import pytest

import gyre


def eagerly(f, x):
    return f(x)


def traced(f, x):
    return gyre.function(f)(x)


@pytest.mark.parametrize("run", [eagerly, traced])
def test_a_list_of_one_is_that_one(run):
    assert (
        int(
            run(
                lambda x: gyre.while_loop(lambda i: [i < 3], lambda i: i + 1, [x]), gyre.constant(0)
            )[0]
        )
        == 3
    )


@pytest.mark.parametrize("run", [eagerly, traced])
@pytest.mark.parametrize("answer", [lambda i: [i < 3, i < 4], lambda i: None, lambda i: []])
def test_what_is_no_scalar_is_refused(run, answer):
    with pytest.raises(TypeError, match="cond of while_loop must return a scalar"):
        run(lambda x: gyre.while_loop(answer, lambda i: i + 1, [x]), gyre.constant(0))


def test_shape_invariants_pass_over_what_is_no_tensor():
    def grow(x):
        return gyre.while_loop(
            lambda i, none, x: i < 2,
            lambda i, none, x: (i + 1, none, gyre.concat([x, x], 0)),
            (0, None, x),
            shape_invariants=(gyre.TensorShape([]), None, gyre.TensorShape([None])),
        )[2]

    x = gyre.ones([1])
    assert grow(x).shape == [4] and gyre.function(grow)(x).shape == [4]
