"""Options of the public API: each does something, or says that it does not, or has nothing to do
here.

Here are programs in which options have their effect, and options that are refused, wrong or warned
of. What has nothing to do here stands in docs/options.md, with the reason: the last test finds each
parameter of a public function that no code reads, and wants it there.
"""

import ast
import importlib
import pathlib
import re
import time
import warnings

import numpy as np
import pytest

import gyre
import gyre.compat.v1 as v1
from gyre import data, nn, optimizers
from gyre._impl import facade

OPTIONS = pathlib.Path(__file__).parents[2] / "docs" / "options.md"

# ---- What has an effect: (option, what it is set to, what is seen)


def slope(f):
    x = gyre.constant([1.0, 2.0])
    with gyre.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return tape.gradient(y, x) is not None


def both_ways(f):
    """In a function and out of it."""
    return [slope(f), slope(lambda x: gyre.function(f)(x))]


def add(a, b):
    return a + b


def iterations_of(**options):
    i = gyre.while_loop(lambda i: i < 9, lambda i: [i + 1], [gyre.constant(0)], **options)[0]
    return int(i)


def peak(**options):
    def step(x):
        with gyre.GradientTape() as tape:
            tape.watch(x)
            y = gyre.while_loop(
                lambda i, y: i < 200,
                lambda i, y: (i + 1, gyre.sin(y)),
                (gyre.constant(0), x),
                **options,
            )[1]
        return tape.gradient(y, x)

    x = gyre.ones([256])
    _, told = gyre.function(step).get_concrete_function(x).run_with_options([x], trace=True)
    return told["peak_bytes"] < 100_000


def traces(**options):
    count = []

    def f(x):
        count.append(1)
        return x + 1

    traced = gyre.function(f, **options)
    for n in range(1, 6):
        traced(gyre.ones([n]))
    return len(count)


def orders(**options):
    dataset = data.Dataset.range(50).shuffle(50, **options)
    return [[int(x) for x in dataset] for _ in range(2)]


def sizes(**options):
    return [int(gyre.size(x)) for x in data.Dataset.range(5).batch(2, **options)]


def stepped(optimizer, steps=3):
    v = gyre.Variable([1.0, -2.0])
    for _ in range(steps):
        optimizer.minimize(lambda: gyre.reduce_sum(v * v), [v])
    return v.numpy().tolist()


def saved_by(tmp_path, **options):
    with v1.Graph().as_default():
        v1.get_variable("v", initializer=1.0)
        saver = v1.train.Saver(**options)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            folder = tmp_path / str(len(list(tmp_path.iterdir())))
            folder.mkdir()
            for step in range(4):
                saver.save(session, str(folder / "m"), step)
            return sorted(path.name for path in folder.iterdir())


def timed_out(config=None, options=None):
    with v1.Graph().as_default(), v1.Session(config=config) as session:
        endless = v1.while_loop(lambda i: i >= 0, lambda i: (i + 1) % 1000, [v1.constant(0)])
        began = time.process_time()
        with pytest.raises(gyre.errors.DeadlineExceededError):
            session.run(endless, options=options)
        return time.process_time() - began < 30


def traced(**options):
    metadata = v1.RunMetadata()
    with v1.Graph().as_default(), v1.Session() as session:
        session.run(v1.constant(1.0) + 1.0, options=v1.RunOptions(**options), run_metadata=metadata)
    return len(metadata.step_stats.dev_stats) > 0


ROWS = np.arange(4, dtype=np.float32)

EFFECTS = {
    "while_loop(maximum_iterations)": (lambda: iterations_of(maximum_iterations=4), 4),
    "while_loop(back_prop)": (
        lambda: both_ways(
            lambda x: gyre.while_loop(lambda y: False, lambda y: [y], [x], back_prop=False)[0]
        ),
        [False, False],
    ),
    "while_loop(memory)": (lambda: [peak(), peak(memory="recompute(14)")], [False, True]),
    "map_fn(back_prop)": (
        lambda: both_ways(lambda x: gyre.map_fn(lambda r: r * r, x, back_prop=False)),
        [False, False],
    ),
    "map_fn(fn_output_signature)": (
        lambda: (
            gyre.map_fn(
                lambda r: gyre.cast(r, "int32"), ROWS, fn_output_signature="int32"
            ).dtype.name
        ),
        "int32",
    ),
    "scan(back_prop)": (
        lambda: both_ways(lambda x: gyre.scan(add, x, back_prop=False)),
        [False, False],
    ),
    "scan(reverse)": (lambda: gyre.scan(add, ROWS, reverse=True).numpy().tolist(), [6, 6, 5, 3]),
    "foldl(back_prop)": (
        lambda: both_ways(lambda x: gyre.foldl(add, x, back_prop=False)),
        [False, False],
    ),
    "foldr(back_prop)": (
        lambda: both_ways(lambda x: gyre.foldr(add, x, back_prop=False)),
        [False, False],
    ),
    "function(input_signature)": (
        lambda: traces(input_signature=[gyre.TensorSpec([None], "float32")]),
        1,
    ),
    "function(reduce_retracing)": (lambda: [traces(), traces(reduce_retracing=False)], [2, 5]),
    "Dataset.shuffle(seed, reshuffle_each_iteration)": (
        lambda: [
            a == b for a, b in (orders(seed=1), orders(seed=1, reshuffle_each_iteration=False))
        ],
        [False, True],
    ),
    "Dataset.batch(drop_remainder)": (
        lambda: [sizes(), sizes(drop_remainder=True)],
        [[2, 2, 1], [2, 2]],
    ),
    "Dataset.repeat(count)": (lambda: len(list(data.Dataset.range(2).repeat(3))), 6),
    "SGD(learning_rate)": (lambda: stepped(optimizers.SGD(0.25), 1), [0.5, -1.0]),
    "SGD(momentum)": (
        lambda: stepped(optimizers.SGD(0.1)) != stepped(optimizers.SGD(0.1, momentum=0.9)),
        True,
    ),
    "SGD(nesterov)": (
        lambda: (
            stepped(optimizers.SGD(0.1, 0.9)) != stepped(optimizers.SGD(0.1, 0.9, nesterov=True))
        ),
        True,
    ),
    "Adam(beta_1)": (
        lambda: stepped(optimizers.Adam(0.1)) != stepped(optimizers.Adam(0.1, beta_1=0.5)),
        True,
    ),
    "Adam(beta_2)": (
        lambda: stepped(optimizers.Adam(0.1)) != stepped(optimizers.Adam(0.1, beta_2=0.5)),
        True,
    ),
    "Adam(epsilon)": (
        lambda: stepped(optimizers.Adam(0.1)) != stepped(optimizers.Adam(0.1, epsilon=1.0)),
        True,
    ),
    "Dense(use_bias)": (lambda: len(built(nn.Dense(2, use_bias=False)).variables), 1),
    "Dense(activation)": (
        lambda: float(gyre.reduce_min(nn.Dense(9, activation="relu")(gyre.ones([1, 3])))) >= 0,
        True,
    ),
    "Dense(trainable)": (lambda: len(built(nn.Dense(2, trainable=False)).trainable_variables), 0),
    "nrows(out_type)": (
        lambda: gyre.RaggedTensor.from_row_splits([1, 2], [0, 2]).nrows("int32").dtype.name,
        "int32",
    ),
    "numpy_function(stateful)": (lambda: [calls_of(True), calls_of(False)], [1, 0]),
    "as_graph_def(add_shapes)": (lambda: shapes_in(add_shapes=True), [[2, 3]]),
    "make_callable(accept_options)": (
        lambda: [callable_with_options(False), callable_with_options(True)],
        ["TypeError", 2.0],
    ),
    "layers.flatten(data_format)": (
        lambda: v1_value(
            lambda: v1.layers.flatten(
                v1.constant(np.arange(4.0).reshape(1, 2, 1, 2)), data_format="channels_first"
            )
        ),
        [[0, 2, 1, 3]],
    ),
    "ConfigProto(operation_timeout_in_ms)": (
        lambda: timed_out(v1.ConfigProto(operation_timeout_in_ms=200)),
        True,
    ),
    "ConfigProto(allow_soft_placement, device_count)": (
        lambda: [
            on_second_cpu(),
            on_second_cpu(device_count={"CPU": 2}),
            on_second_cpu(allow_soft_placement=True),
            on_second_cpu(allow_soft_placement=False),
            on_second_cpu(allow_soft_placement=False, device_count={"CPU": 2}),
        ],
        [2.0, 2.0, 2.0, "InvalidArgumentError", 2.0],
    ),
    "ConfigProto(device_count)": (
        lambda: len(v1.Session(config=v1.ConfigProto(device_count={"CPU": 3})).list_devices()),
        3,
    ),
    "limits(seconds)": (lambda: limited(seconds=0.1), "DeadlineExceededError"),
    "limits(bytes)": (lambda: limited(bytes=1 << 10), "ResourceExhaustedError"),
    "RunOptions(timeout_in_ms)": (
        lambda: timed_out(options=v1.RunOptions(timeout_in_ms=200)),
        True,
    ),
    "RunOptions(trace_level)": (
        lambda: [traced(), traced(trace_level=v1.RunOptions.FULL_TRACE)],
        [False, True],
    ),
}


def on_second_cpu(**config):
    with v1.Graph().as_default():
        with v1.device("/cpu:1"):
            y = v1.constant(1.0) + 1.0
        try:
            return float(v1.Session(config=v1.ConfigProto(**config)).run(y))
        except gyre.errors.InvalidArgumentError as error:
            return type(error).__name__


def limited(**limits):
    @gyre.function
    def endless(x):
        while gyre.reduce_sum(x) >= 0.0:
            x = gyre.abs(gyre.sin(x))
        return x

    try:
        with gyre.limits(**limits):
            endless(gyre.ones([1000]))
    except gyre.errors.OpError as error:
        return type(error).__name__


def built(layer):
    layer(gyre.ones([1, 3]))
    return layer


def calls_of(stateful):
    count = []

    def host(x):
        count.append(1)
        return x

    @gyre.function
    def f(x):
        gyre.numpy_function(host, [x], "float32", stateful=stateful)
        return x

    f(gyre.constant(1.0))
    return len(count)


def shapes_in(**options):
    with v1.Graph().as_default() as graph:
        v1.zeros([2, 3], name="z")
        return [
            [dim.size for dim in shape.dim]
            for node in graph.as_graph_def(**options).node
            if node.name == "z"
            for shape in node.attr["_output_shapes"].list.shape
        ]


def callable_with_options(accept):
    with v1.Graph().as_default(), v1.Session() as session:
        run = session.make_callable(v1.constant(1.0) + 1.0, accept_options=accept)
        try:
            return float(run(options=v1.RunOptions()))
        except TypeError:
            return "TypeError"


def v1_value(make):
    with v1.Graph().as_default(), v1.Session() as session:
        return session.run(make()).tolist()


@pytest.mark.parametrize("option", EFFECTS)
def test_has_its_effect(option):
    run, want = EFFECTS[option]
    assert run() == want


def test_which_checkpoints_of_a_saver_stay(tmp_path):
    few, all_of_them = saved_by(tmp_path, max_to_keep=1), saved_by(tmp_path, max_to_keep=0)
    assert len(few) < len(all_of_them)
    hourly = saved_by(tmp_path, max_to_keep=1, keep_checkpoint_every_n_hours=1e-9)
    assert len(hourly) == len(all_of_them)
    padded = saved_by(tmp_path, pad_step_number=True)
    assert any("00000003" in name for name in padded)


def test_what_a_saver_is_told_stands_in_its_operations(tmp_path):
    with v1.Graph().as_default(), v1.Session() as session:
        v1.get_variable("v", initializer=1.0)
        saver = v1.train.Saver(sharded=True, filename=str(tmp_path / "m"))
        session.run(v1.global_variables_initializer())
        session.run(saver.saver_def.save_tensor_name)
    assert saver.as_saver_def().sharded and v1.train.checkpoint_exists(str(tmp_path / "m"))


def test_a_negative_count_of_a_graph_is_no_limit():
    @gyre.function
    def rows_of(n):
        rows = data.Dataset.range(3).take(n)
        return rows.reduce(gyre.constant(0, "int64"), lambda count, _: count + 1)

    @gyre.function
    def times(n):
        rows = data.Dataset.range(3).repeat(n).take(10)
        return rows.reduce(gyre.constant(0, "int64"), lambda count, _: count + 1)

    assert [int(rows_of(gyre.constant(n))) for n in (-1, 0, 2)] == [3, 0, 2]
    assert [int(times(gyre.constant(n))) for n in (-1, 0, 2)] == [10, 0, 6]
    assert len(list(data.Dataset.range(3).take(gyre.constant(-1)))) == 3


def test_parts_of_dataset_options_are_kept():
    options = data.Options()
    options.autotune.enabled = options.threading.private_threadpool_size = 4
    assert options.autotune.enabled == 4 and options.deterministic is None


# ---- What is refused, and what is warned of

SPARSE = {"indices": [[0]], "values": [1.0], "dense_shape": [2]}

REFUSED = {
    "stateless_uniform(alg)": lambda: gyre.random.stateless_uniform([2], [1, 2], alg="threefry"),
    "Generator.from_seed(alg)": lambda: gyre.random.Generator.from_seed(1, alg="threefry"),
    "RaggedTensor.from_tensor(row_splits_dtype)": lambda: gyre.RaggedTensor.from_tensor(
        [[1]], row_splits_dtype="int32"
    ),
    "ragged.constant(row_splits_dtype)": lambda: gyre.ragged.constant(
        [[1]], row_splits_dtype="int32"
    ),
    "TensorArray(handle)": lambda: gyre.TensorArray("float32", 1, handle=gyre.constant(1)),
    "Variable(variable_def)": lambda: gyre.Variable(variable_def=object()),
    "SaveOptions(extra_tags)": lambda: gyre.saved_model.SaveOptions(extra_tags={"a"}),
    "SaveOptions(function_aliases)": lambda: gyre.saved_model.SaveOptions(
        function_aliases={"a": print}
    ),
    "LoadOptions(experimental_skip_checkpoint)": lambda: gyre.saved_model.LoadOptions(
        experimental_skip_checkpoint=True
    ),
    "LoadOptions(allow_partial_checkpoint)": lambda: gyre.saved_model.LoadOptions(
        allow_partial_checkpoint=True
    ),
    "v1.sparse_add(threshold)": lambda: v1.sparse_add(
        gyre.SparseTensor(**SPARSE), gyre.SparseTensor(**SPARSE), threshold=0.5
    ),
    "v1.gather_nd(bad_indices_policy)": lambda: v1.gather_nd(
        [1, 2], [[5]], bad_indices_policy="IGNORE"
    ),
    "Graph.as_graph_def(from_version)": lambda: v1.Graph().as_graph_def(from_version=3),
    "v1.train.Saver(builder)": lambda: v1.train.Saver({"v": gyre.Variable(1.0)}, builder=object()),
    "v1.train.Saver(filename)": lambda: v1.train.Saver({"v": gyre.Variable(1.0)}, filename="m"),
    "v1.train.Saver(write_version)": lambda: v1.train.Saver(
        {"v": gyre.Variable(1.0)}, write_version=1
    ),
}

ROW = gyre.constant([1.0, 2.0])


def loop(**options):
    return gyre.while_loop(lambda i: i < 3, lambda i: [i + 1], [gyre.constant(0)], **options)


def plain_loop(window=None, iterations=None, policy=None):
    @gyre.function
    def f(x):
        for _ in gyre.range(3):
            gyre.autograph.experimental.set_loop_options(
                parallel_iterations=window, maximum_iterations=iterations, memory=policy
            )
            x = x + 1
        return x

    return f(gyre.constant(1.0))


def use_device(device):
    with gyre.device(device):
        pass


def use_device_of_v1(device):
    with v1.Graph().as_default(), v1.device(device):
        pass


ELEMENTS = data.Dataset.range(3)

# Errors that name the option: (class, use), the same in a function and out of it.
NAMED = {
    "while_loop(parallel_iterations)": (TypeError, lambda: loop(parallel_iterations="a")),
    "while_loop(parallel_iterations=0)": (ValueError, lambda: loop(parallel_iterations=0)),
    "while_loop(maximum_iterations)": (TypeError, lambda: loop(maximum_iterations="a")),
    "while_loop(maximum_iterations=2.5)": (TypeError, lambda: loop(maximum_iterations=2.5)),
    "while_loop(memory)": (ValueError, lambda: loop(memory="bogus")),
    "map_fn(parallel_iterations)": (
        ValueError,
        lambda: gyre.map_fn(lambda x: x, ROW, parallel_iterations=0),
    ),
    "map_fn(memory)": (ValueError, lambda: gyre.map_fn(lambda x: x, ROW, memory="recompute(0)")),
    "scan(parallel_iterations)": (ValueError, lambda: gyre.scan(add, ROW, parallel_iterations=-1)),
    "foldl(memory)": (ValueError, lambda: gyre.foldl(add, ROW, memory="bogus")),
    "foldr(parallel_iterations)": (
        TypeError,
        lambda: gyre.foldr(add, ROW, parallel_iterations=1.5),
    ),
    "set_loop_options(parallel_iterations)": (ValueError, lambda: plain_loop(window=0)),
    "set_loop_options(maximum_iterations)": (TypeError, lambda: plain_loop(iterations="a")),
    "set_loop_options(memory)": (ValueError, lambda: plain_loop(policy="bogus")),
    "function(memory)": (ValueError, lambda: gyre.function(add, memory="bogus")),
    "device(device)": (ValueError, lambda: use_device("nonsense!!")),
    "v1.device(device)": (ValueError, lambda: use_device_of_v1("nonsense!!")),
    "name_scope(name)": (TypeError, lambda: gyre.name_scope(5).__enter__()),
    "Dataset.batch(batch_size)": (ValueError, lambda: ELEMENTS.batch(-2)),
    "Dataset.batch(batch_size='a')": (TypeError, lambda: ELEMENTS.batch("a")),
    "Dataset.batch(num_parallel_calls)": (
        ValueError,
        lambda: ELEMENTS.batch(2, num_parallel_calls=-5),
    ),
    "Dataset.map(num_parallel_calls)": (
        ValueError,
        lambda: ELEMENTS.map(lambda x: x, num_parallel_calls=0),
    ),
    "Dataset.shuffle(buffer_size)": (ValueError, lambda: ELEMENTS.shuffle(-2)),
    "Dataset.prefetch(buffer_size)": (ValueError, lambda: ELEMENTS.prefetch(-3)),
    "Dataset.prefetch(buffer_size='a')": (TypeError, lambda: ELEMENTS.prefetch("a")),
    "Dataset.take(count)": (TypeError, lambda: ELEMENTS.take("a")),
    "Dataset.skip(count)": (TypeError, lambda: ELEMENTS.skip(2.5)),
    "Dataset.repeat(count)": (TypeError, lambda: ELEMENTS.repeat("a")),
    "Dataset.with_options(Options)": (TypeError, lambda: ELEMENTS.with_options(5)),
    "Adam(learning_rate)": (TypeError, lambda: optimizers.Adam(lr=0.1)),
    "Adam(learning_rate='a')": (TypeError, lambda: optimizers.Adam("a")),
    "SGD(clipnorm)": (TypeError, lambda: optimizers.SGD(0.1, clipnorm=1.0)),
    "Saver(max_to_keep)": (
        ValueError,
        lambda: v1.train.Saver({"v": gyre.Variable(1.0)}, max_to_keep=-1),
    ),
    "Saver(max_to_keep='a')": (
        TypeError,
        lambda: v1.train.Saver({"v": gyre.Variable(1.0)}, max_to_keep="a"),
    ),
    "Saver(keep_checkpoint_every_n_hours)": (
        TypeError,
        lambda: v1.train.Saver({"v": gyre.Variable(1.0)}, keep_checkpoint_every_n_hours="a"),
    ),
    "while_loop(shape_invariants)": (
        ValueError,
        lambda: gyre.while_loop(
            lambda x: gyre.size(x) < 9,
            lambda x: [gyre.concat([x, x], 0)],
            [gyre.ones([1])],
            shape_invariants=[gyre.TensorShape([1])],
        ),
    ),
    "ConfigProto(device_count)": (
        ValueError,
        lambda: v1.Session(config=v1.ConfigProto(device_count={"CPU": -1})),
    ),
    "ConfigProto(intra_op_parallelism_threads)": (
        ValueError,
        lambda: v1.Session(config=v1.ConfigProto(intra_op_parallelism_threads=-3)),
    ),
}


@pytest.mark.parametrize("option", NAMED)
def test_an_error_names_the_option(option):
    kind, use = NAMED[option]
    name = option[option.index("(") + 1 : -1].split("=")[0]
    for run in (use, gyre.function(use)):
        with pytest.raises(kind, match=name):
            run()


WRONG = {
    "from_row_splits(validate)": (
        ValueError,
        lambda: gyre.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 4]),
    ),
    "einsum(**options)": (TypeError, lambda: gyre.einsum("i,i->", [1.0], [2.0], optimise="greedy")),
    "data.Options": (AttributeError, lambda: setattr(data.Options(), "determinstic", True)),
    "ConfigProto": (ValueError, lambda: v1.ConfigProto(allow_growth=True)),
    "make_tensor_proto(verify_shape)": (
        TypeError,
        lambda: v1.make_tensor_proto([1.0], shape=[2], verify_shape=True),
    ),
}


@pytest.mark.parametrize("option", REFUSED)
def test_is_refused_by_name(option):
    with pytest.raises(NotImplementedError) as error:
        REFUSED[option]()
    name = option[option.index("(") + 1 : -1].split(",")[0]
    assert name in str(error.value)


@pytest.mark.parametrize("option", WRONG)
def test_is_an_error(option):
    kind, use = WRONG[option]
    with pytest.raises(kind):
        use()


def test_what_validate_leaves_out():
    assert gyre.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 4], validate=False) is not None


@pytest.mark.parametrize("name", ["log_device_placement"])
def test_options_of_sessions_that_tell_nothing_warn(name):
    with v1.Graph().as_default(), pytest.warns(UserWarning, match=name):
        v1.Session(config=v1.ConfigProto(**{name: True})).close()


@pytest.mark.parametrize("name", ["output_partition_graphs", "report_tensor_allocations_upon_oom"])
def test_options_of_runs_that_tell_nothing_warn(name):
    with v1.Graph().as_default(), v1.Session() as session:
        one = v1.constant(1.0)
        with pytest.warns(UserWarning, match=name):
            session.run(one, options=v1.RunOptions(**{name: True}))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.run(one, options=v1.RunOptions(timeout_in_ms=10_000))


# ---- What has nothing to do here


def unread_parameters() -> set[tuple[str, str]]:
    """(function, parameter) of public functions, and of public methods of public classes, that
    their code does not read; `name` names nodes alone."""
    public = set()
    for place in facade.names().values():
        module, _, path = place.partition(":")
        public.add((module, path.split(".")[0]))
    unread = set()
    for module in sorted({module for module, _ in public}):
        file = pathlib.Path(importlib.import_module(module).__file__ or "")
        if file.suffix != ".py":
            continue
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if (module, getattr(node, "name", "")) not in public:
                continue
            for function in node.body if isinstance(node, ast.ClassDef) else [node]:
                if (
                    isinstance(function, ast.FunctionDef)
                    and is_public(function)
                    and not refuses(function)
                ):
                    read = {
                        x.id
                        for x in ast.walk(function)
                        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)
                    } | {"self", "cls", "name"}
                    title = node.name if function.name == "__init__" else function.name
                    unread |= {(title, parameter) for parameter in parameters_of(function) - read}
    return unread


def is_public(function: ast.FunctionDef) -> bool:
    return function.name in ("__init__", "__call__") or not function.name.startswith("_")


def refuses(function: ast.FunctionDef) -> bool:
    """Whether it does nothing but raise an error."""
    return isinstance(function.body[-1], ast.Raise) and len(function.body) <= 2


def parameters_of(function: ast.FunctionDef) -> set[str]:
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return {argument.arg for argument in every if not argument.arg.startswith("_")}


def documented_parameters() -> set[str]:
    """The rows of docs/options.md: "| `parameter`, `function(parameter)` | why |"."""
    documented = set()
    for line in OPTIONS.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) == 2 and cells[0].startswith("`") and cells[1]:
            documented |= set(re.findall(r"`(\w+|\w+\(\w+\))`", cells[0]))
    return documented


def test_parameters_that_no_code_reads_are_documented():
    documented, used = documented_parameters(), set()
    for function, parameter in sorted(unread_parameters()):
        rows = {parameter, f"{function}({parameter})"} & documented
        assert rows, (
            f"{function}({parameter}) is read nowhere: honour it, refuse it, or say why in "
            "docs/options.md"
        )
        used |= rows
    assert documented - used == set()
