"""Progress, timelines, notebooks."""

import io
import json
import subprocess
import sys

import pytest

import gyre
import shown_programs as programs
from gyre._impl.function import watching
from gyre._impl.show import progress

MANY = 100_000  # outer iterations: some tenths of a second of native code


@gyre.function
def busy(n):
    """An outer loop of n, an inner one of 200."""
    x = gyre.constant(0.0)
    i = 0
    while i < n:
        j = 0
        while j < 200:
            x = gyre.sin(x) + 1.0
            j += 1
        i += 1
    return x


def test_callback_hears_of_loops():
    told = []
    with gyre.progress(every=0.01, callback=told.append):
        busy(gyre.constant(MANY))
    assert told
    iterations = [entry["loops"][0]["iteration"] for entry in told if entry["loops"]]
    assert iterations == sorted(iterations) and iterations[-1] < MANY
    assert {entry["loops"][0]["name"] for entry in told if entry["loops"]} == {"while"}


def test_line_is_drawn_and_taken_away():
    file = io.StringIO()
    with gyre.progress("busy", total=MANY, every=0.02, after=0, file=file):
        busy(gyre.constant(MANY))
    drawn = file.getvalue().split("\r\x1b[K")
    assert any("busy:" in line and f"/{MANY}" in line and "%" in line for line in drawn)
    assert all(len(line) <= 79 for line in drawn)
    assert drawn[-1] == "" and "\n" not in file.getvalue()


def test_as_decorator():
    told = []

    @gyre.progress(every=0.01, callback=told.append)
    def main(n):
        """What it says."""
        return busy(n)

    assert main.__doc__ == "What it says."
    main(gyre.constant(MANY))
    assert told and watching.current() is None


def test_off_without_terminal():
    with gyre.progress():  # stderr is no terminal here
        assert watching.current() is None
    with gyre.progress(file=io.StringIO()):
        assert watching.current() is not None
    assert watching.current() is None


def test_error_of_callback_ends_the_run():
    def refuse(told):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"), gyre.progress(every=0.01, callback=refuse):
        busy(gyre.constant(100 * MANY))
    assert watching.current() is None
    with pytest.raises(ValueError, match="more than 0"):
        gyre.progress(every=0)


@pytest.mark.parametrize(
    "told, last, keywords, wanted",
    [
        (
            {"nanos": 2e9, "loops": [{"name": "while", "iteration": 100}]},
            None,
            {},
            "while 100 (50/s)  0:02",
        ),
        (
            {
                "nanos": 3e9,
                "loops": [{"name": "a", "iteration": 5}, {"name": "b", "iteration": 30}],
            },
            {
                "nanos": 2e9,
                "loops": [{"name": "a", "iteration": 5}, {"name": "b", "iteration": 10}],
            },
            {},
            "a 5 › b 30 (20/s)  0:03",
        ),
        (
            {"nanos": 60e9, "loops": [{"name": "w", "iteration": 25}]},
            None,
            {"total": 100, "label": "go"},
            "go:  25% |███         | w 25/100 (0.4/s)  1:00 < 3:00",
        ),
        ({"nanos": 1e9, "loops": [], "waiting": True}, None, {}, "at sin  0:01  waiting for sin"),
        ({"nanos": 1e9, "loops": [{"name": "\x1b[2J", "iteration": 0}]}, None, {}, "?[2J 0  0:01"),
    ],
)
def test_lines(told, last, keywords, wanted):
    told = {"node": "sin", "waiting": False, **told}
    assert progress.line(told, last, **keywords) == wanted


def test_timeline(tmp_path):
    path = tmp_path / "run.json"
    x, n = programs.example()
    result = gyre.timeline(programs.branching, x, n, path=path)
    assert result.numpy().tolist() == programs.branching(x, n).numpy().tolist()
    events = json.loads(path.read_text())["traceEvents"]
    assert sum(event.get("name") == "Sum" and event["ph"] == "X" for event in events) == 7


def test_tensors_in_notebooks():
    told = gyre.constant([[1.5, 2.0], [3.0, 4.0]])._repr_html_()
    assert "float32" in told and "(2, 2)" in told and told.count("<td") == 4 and ">1.5<" in told
    wide = gyre.zeros([100, 50], "int32")._repr_html_()
    assert wide.count("<tr>") == 13 and wide.count("<td") == 13 * 13 and "…" in wide
    assert "&lt;b&gt;" in gyre.constant(["<b>"])._repr_html_()
    assert (
        "<pre" in gyre.constant(3.0)._repr_html_() and "<pre" in gyre.zeros([2, 2, 2])._repr_html_()
    )
    assert ">True<" in gyre.constant([True])._repr_html_()
    assert "bfloat16" in gyre.constant([1.0], "bfloat16")._repr_html_()
    with gyre._gyre.Graph("g") as graph:
        assert "(2, ?)" in graph.placeholder(gyre.float32, (2, None), "x")._repr_html_()


def test_variables_and_functions_in_notebooks():
    variable = gyre.Variable([1.0, 2.0], name="weights")
    assert "weights" in variable._repr_html_() and variable._repr_html_().count("<td") == 2
    assert (
        "variant"
        in gyre.raw_ops.EmptyTensorList(
            element_shape=[2], max_num_elements=-1, element_dtype="float32"
        )._repr_html_()
    )
    concrete = programs.branching.get_concrete_function(*programs.example())
    assert (
        concrete._repr_html_().startswith("<iframe") and "while: i &amp;" in concrete._repr_html_()
    )


def test_pictures_are_not_imported_by_who_does_not_draw():
    code = (
        "import gyre, sys; gyre.function(lambda x: x + 1.)(gyre.constant(1.));"
        "print([m for m in sys.modules if 'show.page' in m or 'show.progress' in m])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )
