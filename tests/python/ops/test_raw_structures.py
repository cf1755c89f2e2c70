"""Raw ops of lists, stacks, arrays, references and functions: as programs call them."""

import numpy as np
import pytest

import gyre


def numbers(tensor):
    return tensor.numpy().tolist()


def test_lists_that_grow():
    handle = gyre.raw_ops.EmptyTensorList(
        element_shape=[], max_num_elements=-1, element_dtype=gyre.float32
    )
    for value in (1.0, 2.0, 3.0):
        handle = gyre.raw_ops.TensorListPushBack(input_handle=handle, tensor=value)
    assert int(gyre.raw_ops.TensorListLength(input_handle=handle)) == 3
    shorter, last = gyre.raw_ops.TensorListPopBack(
        input_handle=handle, element_shape=[], element_dtype=gyre.float32
    )
    assert float(last) == 3
    stacked = gyre.raw_ops.TensorListStack(
        input_handle=shorter, element_shape=[], element_dtype=gyre.float32
    )
    assert numbers(stacked) == [1, 2]
    both = gyre.raw_ops.TensorListConcatLists(
        input_a=shorter, input_b=handle, element_dtype=gyre.float32
    )
    assert int(gyre.raw_ops.TensorListLength(input_handle=both)) == 5


def test_lists_by_index():
    handle = gyre.raw_ops.TensorListReserve(
        element_shape=[2], num_elements=3, element_dtype=gyre.int32
    )
    handle = gyre.raw_ops.TensorListSetItem(input_handle=handle, index=1, item=[4, 5])
    item = gyre.raw_ops.TensorListGetItem(
        input_handle=handle, index=1, element_shape=[2], element_dtype=gyre.int32
    )
    assert numbers(item) == [4, 5]
    handle = gyre.raw_ops.TensorListResize(input_handle=handle, size=2)
    rows = gyre.raw_ops.TensorListGather(
        input_handle=handle, indices=[1, 0], element_shape=[2], element_dtype=gyre.int32
    )
    assert numbers(rows) == [[4, 5], [0, 0]]
    shape = gyre.raw_ops.TensorListElementShape(input_handle=handle, shape_type=gyre.int32)
    assert numbers(shape) == [2]


def test_lists_of_tensors():
    rows = gyre.constant([[1.0], [2.0], [3.0]])
    handle = gyre.raw_ops.TensorListFromTensor(tensor=rows, element_shape=[1])
    assert int(gyre.raw_ops.TensorListLength(input_handle=handle)) == 3
    spread = gyre.raw_ops.TensorListScatterV2(
        tensor=rows, indices=[2, 0, 1], element_shape=[1], num_elements=-1
    )
    assert numbers(
        gyre.raw_ops.TensorListStack(
            input_handle=spread, element_shape=[1], element_dtype=gyre.float32
        )
    ) == [[2], [3], [1]]
    older = gyre.raw_ops.TensorListScatter(tensor=rows, indices=[0, 1, 2], element_shape=[1])
    assert int(gyre.raw_ops.TensorListLength(input_handle=older)) == 3
    pieces = gyre.raw_ops.TensorListSplit(
        tensor=rows, element_shape=[-1, 1], lengths=gyre.constant([1, 2], gyre.int64)
    )
    joined = gyre.raw_ops.TensorListConcatV2(
        input_handle=pieces,
        element_shape=[-1, 1],
        leading_dims=gyre.constant([], gyre.int64),
        element_dtype=gyre.float32,
    )
    assert numbers(joined.tensor) == numbers(rows) and numbers(joined.lengths) == [1, 2]
    again = gyre.raw_ops.TensorListConcat(
        input_handle=pieces, element_dtype=gyre.float32, element_shape=[None, 1]
    )
    assert numbers(again.tensor) == numbers(rows)
    lists = gyre.stack(
        [
            gyre.raw_ops.EmptyTensorList(
                element_shape=[1], max_num_elements=-1, element_dtype=gyre.float32
            )
        ]
        * 3
    )
    pushed = gyre.raw_ops.TensorListPushBackBatch(input_handles=lists, tensor=rows)
    assert int(gyre.raw_ops.TensorListLength(input_handle=pushed[1])) == 1


def test_stacks():
    @gyre.function
    def turned(x):
        stack = gyre.raw_ops.StackV2(max_size=2, elem_type=gyre.float32, stack_name="s")
        gyre.raw_ops.StackPushV2(handle=stack, elem=x)
        gyre.raw_ops.StackPushV2(handle=stack, elem=x * 2.0)
        first = gyre.raw_ops.StackPopV2(handle=stack, elem_type=gyre.float32)
        second = gyre.raw_ops.StackPopV2(handle=stack, elem_type=gyre.float32)
        gyre.raw_ops.StackCloseV2(handle=stack)
        return first, second

    assert [float(v) for v in turned(gyre.constant(1.5))] == [3.0, 1.5]


def test_stacks_of_the_first_kind():
    @gyre.function
    def turned(x):
        stack = gyre.raw_ops.Stack(elem_type=gyre.float32, stack_name="old")
        gyre.raw_ops.StackPush(handle=stack, elem=x)
        top = gyre.raw_ops.StackPop(handle=stack, elem_type=gyre.float32)
        gyre.raw_ops.StackClose(handle=stack)
        return top

    assert float(turned(gyre.constant(2.5))) == 2.5


def test_arrays():
    @gyre.function
    def squares(x):
        array = gyre.raw_ops.TensorArrayV3(size=2, dtype=gyre.float32)
        flow = gyre.raw_ops.TensorArrayWriteV3(
            handle=array.handle, index=0, value=x, flow_in=array.flow
        )
        flow = gyre.raw_ops.TensorArrayWriteV3(
            handle=array.handle, index=1, value=x * x, flow_in=flow
        )
        slopes = gyre.raw_ops.TensorArrayGradWithShape(
            handle=array.handle,
            flow_in=flow,
            shape_to_prepend=gyre.constant([], gyre.int32),
            source="gradients",
        )
        inner = gyre.raw_ops.TensorArrayWriteV3(
            handle=slopes.grad_handle, index=0, value=x + 1.0, flow_in=slopes.flow_out
        )
        return (
            gyre.raw_ops.TensorArrayReadV3(
                handle=array.handle, index=1, flow_in=flow, dtype=gyre.float32
            ),
            gyre.raw_ops.TensorArrayReadV3(
                handle=slopes.grad_handle, index=0, flow_in=inner, dtype=gyre.float32
            ),
        )

    assert [float(v) for v in squares(gyre.constant(3.0))] == [9.0, 4.0]


def test_switch_and_merge():
    @gyre.function
    def absolute(x):
        sides = gyre.raw_ops.Switch(data=x, pred=x > 0.0)
        return gyre.raw_ops.Merge(inputs=[-sides.output_false, sides.output_true]).output

    assert [float(absolute(gyre.constant(v))) for v in (-2.0, 3.0)] == [2.0, 3.0]


def test_optionals_and_truth():
    some = gyre.raw_ops.OptionalFromValue(components=[gyre.constant(4)])
    assert bool(gyre.raw_ops.OptionalHasValue(optional=some))
    assert [bool(gyre.raw_ops.ToBool(input=v)) for v in (0, 2, "", "a")] == [
        False,
        True,
        False,
        True,
    ]
    assert float(gyre.raw_ops.PreventGradient(input=gyre.constant(1.0), message="no")) == 1.0


def test_references():
    @gyre.function
    def changed():
        v = gyre.raw_ops.Variable(shape=[], dtype=gyre.float32, container="", shared_name="raw_ref")
        assigned = gyre.raw_ops.Assign(ref=v, value=gyre.constant(3.0))
        sides = gyre.raw_ops.RefSwitch(data=assigned, pred=gyre.constant(True))
        merged = gyre.raw_ops.RefMerge(inputs=[sides.output_false, sides.output_true])
        chosen = gyre.raw_ops.RefSelect(index=0, inputs=[assigned, assigned])
        return (gyre.raw_ops.RefIdentity(input=merged.output) + 0.0, chosen + 0.0)

    assert [float(x) for x in changed()] == [3.0, 3.0]


@gyre.function
def double(x):
    return x * 2.0


@gyre.function
def square(x):
    return x * x


FLOAT = gyre.TensorSpec([], gyre.float32)


def concrete(function):
    return function.get_concrete_function(FLOAT)


@pytest.mark.parametrize("traced", [False, True])
def test_functions_as_attributes(traced):
    then, otherwise = concrete(double), concrete(square)
    small = gyre.function(lambda x: x < 100.0).get_concrete_function(FLOAT)
    add = gyre.function(lambda i, x: gyre.cast(i, gyre.float32) + x).get_concrete_function(
        gyre.TensorSpec([], gyre.int32), FLOAT
    )

    def all_of_them(x):
        return [
            *gyre.raw_ops.If(
                cond=x > 1.0,
                input=[x],
                Tout=[gyre.float32],
                then_branch=then,
                else_branch=otherwise,
            ),
            *gyre.raw_ops.Case(
                branch_index=1, input=[x], Tout=[gyre.float32], branches=[then, otherwise]
            ),
            *gyre.raw_ops.While(input=[x], cond=small, body=then),
            *gyre.raw_ops.For(start=0, limit=4, delta=1, input=[x], body=add),
            *gyre.raw_ops.RemoteCall(target="/cpu:0", args=[x], Tout=[gyre.float32], f=otherwise),
            *gyre.raw_ops.SymbolicGradient(
                input=[x, gyre.constant(10.0)], Tout=[gyre.float32], f=otherwise
            ),
        ]

    run = gyre.function(all_of_them) if traced else all_of_them
    assert [float(v) for v in run(gyre.constant(3.0))] == [6.0, 9.0, 192.0, 9.0, 9.0, 60.0]


@pytest.mark.parametrize("in_session", [False, True])
def test_for_waits_for_the_check_of_its_bounds(in_session):
    def build(limit):
        twice = gyre.function(lambda i, x: x + x)
        return gyre.raw_ops.For(start=0, limit=limit, delta=1, input=[1.0], body=twice)[0]

    if in_session:
        with gyre.Graph().as_default() as graph:
            build(gyre.compat.v1.placeholder(gyre.int32, []))
    else:
        graph = gyre.function(build).get_concrete_function(gyre.TensorSpec([], gyre.int32)).graph
    operations = graph.get_operations()
    (loop,) = (op for op in operations if "While" in op.type)
    waiting = [op for op in (x.op for x in loop.inputs) if op.control_inputs]
    assert [op.control_inputs[0].type for op in waiting] == ["Assert"]


def test_branches_by_number():
    run = gyre.function(
        lambda n: gyre.raw_ops.If(
            cond=n,
            input=[3.0],
            Tout=[gyre.float32],
            then_branch=concrete(double),
            else_branch=concrete(square),
        )
    )
    assert [float(run(gyre.constant(n))[0]) for n in (0, 5)] == [9.0, 6.0]


def test_small_ones():
    x = gyre.constant([[1.0, 2.0]])
    assert int(gyre.raw_ops.Rank(input=x)) == 2 and int(gyre.raw_ops.Size(input=x)) == 2
    assert numbers(gyre.raw_ops.Shape(input=x)) == [1, 2]
    assert numbers(gyre.raw_ops.Add(x=x, y=x)) == numbers(gyre.raw_ops.AddV2(x=x, y=x))
    assert numbers(gyre.raw_ops.Einsum(inputs=[x, x], equation="ij,kj->ik")) == [[5]]
    np.testing.assert_equal(
        gyre.raw_ops.RandomStandardNormal(shape=[3], dtype=gyre.float32, seed=1, seed2=2).shape, [3]
    )
    with pytest.raises(gyre.errors.InvalidArgumentError):
        gyre.raw_ops.Assert(condition=False, data=["no"])


def test_variables():
    handle = gyre.raw_ops.VarHandleOp(
        dtype=gyre.float32, shape=[], shared_name="raw_v", container=""
    )
    assert not bool(gyre.raw_ops.VarIsInitializedOp(resource=handle))
    gyre.raw_ops.AssignVariableOp(resource=handle, value=2.0)
    gyre.raw_ops.AssignAddVariableOp(resource=handle, value=0.5)
    assert float(gyre.raw_ops.ReadVariableOp(resource=handle, dtype=gyre.float32)) == 2.5
    moment = gyre.Variable(0.0)
    speed = gyre.Variable(0.0)
    weight = gyre.Variable(1.0)
    gyre.raw_ops.ResourceApplyAdam(
        var=weight.handle,
        m=moment.handle,
        v=speed.handle,
        beta1_power=0.9,
        beta2_power=0.999,
        lr=0.1,
        beta1=0.9,
        beta2=0.999,
        epsilon=1e-8,
        grad=gyre.constant(1.0),
    )
    np.testing.assert_allclose(float(weight), 0.9, rtol=1e-6)


def test_frames():
    """A frame that is entered, goes on to its second iteration, and is left."""

    @gyre.function
    def doubled_if_small(x):
        frame = {"frame_name": "frame", "parallel_iterations": 1}
        inside = gyre.raw_ops.Enter(data=x, is_constant=False, **frame)
        bound = gyre.raw_ops.Enter(data=gyre.constant(100.0), is_constant=True, **frame)
        later = gyre.raw_ops.NextIteration(data=inside)
        small = gyre.raw_ops.LoopCond(input=later < bound)
        sides = gyre.raw_ops.Switch(data=later + later, pred=small)
        either = gyre.raw_ops.Merge(inputs=[sides.output_true, -sides.output_false]).output
        return gyre.raw_ops.Exit(data=either)

    assert [float(doubled_if_small(gyre.constant(v))) for v in (3.0, 300.0)] == [6.0, -600.0]


def test_references_enter_frames():
    @gyre.function
    def entered():
        v = gyre.raw_ops.Variable(
            shape=[], dtype=gyre.float32, container="", shared_name="raw_enter"
        )
        assigned = gyre.raw_ops.Assign(ref=v, value=gyre.constant(3.0))
        inside = gyre.raw_ops.RefEnter(
            data=assigned, frame_name="f", is_constant=False, parallel_iterations=1
        )
        return gyre.raw_ops.Exit(data=inside + inside)

    assert float(entered()) == 6


def test_arrays_that_nobody_made_are_not_found():
    @gyre.function
    def joined():
        return gyre.raw_ops.TensorArrayConcatV2(
            handle=["a", "b"], flow_in=0.1, dtype=gyre.int32, element_shape_except0=1
        )

    with pytest.raises(gyre.errors.NotFoundError, match="Container a does not exist"):
        joined()
    with pytest.raises(gyre.errors.InvalidArgumentError, match="2-element"):
        gyre.raw_ops.TensorArrayConcatV2(handle=["a"], flow_in=0.1, dtype=gyre.int32)


def test_switch_at_once():
    for pred in (False, True):
        outputs = gyre.raw_ops.Switch(data=[[1, 2], [3, 4]], pred=pred)
        assert outputs[pred].numpy().tolist() == [[1, 2], [3, 4]]
        assert outputs[not pred].shape == [0]


def test_references_of_stacks_have_names():
    with gyre.Graph().as_default(), gyre.compat.v1.Session() as session:
        made = [gyre.raw_ops.Stack(elem_type=gyre.float32, stack_name="s") for _ in range(2)]
        first, second = session.run(made)
    assert first[0] == second[0] and first[1] != second[1]
