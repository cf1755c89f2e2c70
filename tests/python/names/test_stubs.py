"""Stubs of the public names: complete, true, and of use to editors and type checkers."""

import ast
import inspect
import json
import subprocess
import sys
import sysconfig
from pathlib import Path

import jedi
import pytest

import gyre
from gyre._impl import facade

HERE = Path(__file__).parent
TOOLS = HERE.parents[2] / "python" / "tools"
INSTALLED = Path(sysconfig.get_path("purelib")) / "gyre-stubs"  # by ./dev python
sys.path.insert(0, str(TOOLS))

import make_stubs  # noqa: E402 (found by what stands above)


@pytest.fixture(scope="module")
def stubs():
    """{path: text} as the tool makes them now."""
    return {path.as_posix(): text for path, text in make_stubs.stubs().items()}


def defined(text):
    """The names that a stub hands on."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield from (alias.asname for alias in node.names if alias.asname)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            yield target.id


def file_of(namespace, stubs):
    path = namespace.replace(".", "/")
    places = [f"{path}.pyi", f"{path}/__init__.pyi"] if path else ["__init__.pyi"]
    (found,) = [place for place in places if place in stubs]
    return stubs[found]


def test_what_is_installed_is_what_the_tool_makes(stubs):
    installed = {
        path.relative_to(INSTALLED).as_posix(): path.read_text(encoding="utf-8")
        for path in INSTALLED.rglob("*.pyi")
        if path.name != "_gyre.pyi"  # a copy
    }
    assert installed == stubs, "./dev python makes them"
    assert (INSTALLED / "py.typed").read_text() == "partial\n"
    assert (Path(gyre.__file__).parent / "py.typed").exists()


def test_every_public_name_has_an_entry(stubs):
    entries = {}
    missing = []
    for full in facade.names():
        namespace, _, name = full.rpartition(".")
        if namespace not in entries:
            entries[namespace] = set(defined(file_of(namespace, stubs)))
        if name not in entries[namespace]:
            missing.append(full)
    assert missing == []
    assert set(defined(stubs["raw_ops.pyi"])) == set(dir(gyre.raw_ops))


def test_functions_say_what_they_return():
    without = {
        name
        for name, place in facade.names().items()
        if inspect.isfunction(value := facade.resolve(place))
        and inspect.signature(value).return_annotation is inspect.Signature.empty
    }
    assert without == set()


def test_the_stub_of_function_has_its_parameters_and_members(stubs):
    classes, overloads = {}, []
    for node in ast.parse(stubs["_impl/function/function.pyi"]).body:
        if isinstance(node, ast.ClassDef):
            classes[node.name] = {
                getattr(part, "name", None) or part.target.id
                for part in node.body
                if isinstance(part, (ast.FunctionDef, ast.AnnAssign))
            }
        elif isinstance(node, ast.FunctionDef):
            overloads.append([argument.arg for argument in node.args.args])
    parameters = list(inspect.signature(gyre.function).parameters)
    assert overloads[-1] == parameters and classes["_Options"] == set(parameters[1:])
    made = gyre.function(lambda x: x)
    assert all(hasattr(made, name) for name in classes["Function"])
    public = {name for name in dir(type(made)) if not name.startswith("_")}
    assert public - {"parameters"} <= classes["Function"]


def names_of(completions):
    return {completion.name for completion in completions}


def test_jedi_completes():
    def complete(code):
        return names_of(jedi.Script(f"import gyre\n{code}").complete())

    assert {"math", "matmul", "map_fn", "maximum"} <= complete("gyre.ma") | complete("gyre.m")
    assert {"tan", "xlogy", "reduce_sum", "segment_mean"} <= complete("gyre.math.")
    assert {"get_variable", "placeholder", "constant"} <= complete("gyre.compat.v1.")
    assert {"relu", "Dense", "losses"} <= complete("gyre.nn.")
    assert {"assign_add", "numpy", "shape"} <= complete("gyre.Variable(1.0).")
    assert {"numpy", "shape", "dtype"} <= complete("gyre.tan(1.0).")
    assert {"node", "library", "versions"} <= complete("gyre.compat.v1.GraphDef().")
    assert {"reshape", "dtype", "tolist"} <= complete("gyre.tan(1.0).numpy().")


@pytest.mark.parametrize("decorator", ["@gyre.function", "@gyre.function(autograph=False)"])
def test_jedi_knows_decorated_functions(decorator):
    code = f"import gyre\n\n{decorator}\ndef f(x: gyre.Tensor) -> gyre.Tensor:\n    return x\n\n"
    found = names_of(jedi.Script(code + "f.").complete())
    assert {"get_concrete_function", "python_function", "input_signature"} <= found
    found = names_of(jedi.Script(code + "f.get_concrete_function().").complete())
    assert {"structured_outputs", "graph"} <= found
    assert "as_graph_def" in names_of(
        jedi.Script(code + "f.get_concrete_function().graph.").complete()
    )


def test_jedi_shows_signatures():
    def signature(code):
        (found,) = jedi.Script(f"import gyre\n{code}").get_signatures()
        return found

    loop = signature("gyre.while_loop(")
    assert [p.name for p in loop.params][:3] == ["cond", "body", "loop_vars"]
    assert "while cond(*loop_vars) is true" in loop.docstring()
    tangent = signature("gyre.math.tan(")
    assert [p.name for p in tangent.params] == ["x", "name"]
    assert "tangent" in tangent.docstring()
    assert "axis" in {p.name for p in signature("gyre.reduce_sum(").params}


PROGRAM = HERE / "typed_program.py"
# Lines of users with a mistake that types tell, and what is wrong.
MISTAKES = (
    "gyre.math.tann(1.0)",
    "gyre.tan(x, 1.0, 2.0)",
    "gyre.reduce_sum(x, keepdim=True)",
    "gyre.while_loop(1, 2, 3)",
    "length: str = gyre.matmul(x, x)",
    "gyre.Variable(x).asign(x)",
    "gyre.raw_ops.Tan(y=x)",
    "gyre.compat.v1.NodeDef(nam='n')",
    "gyre.function(len)([], [])",
    "gyre.function(jit_compile=1)",
    "gyre.function(len, reduce_retracin=True)",
    "gyre.function(len)([]).numpyy()",
)


def errors_of_pyright(folder):
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
        + ["--project", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    return [
        (Path(found["file"]).name, found["range"]["start"]["line"] + 1, found["message"])
        for found in json.loads(done.stdout)["generalDiagnostics"]
        if found["severity"] == "error"
    ]


def errors_of_mypy(folder):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "--output=json", "."],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        timeout=300,
    )
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return [(Path(one["file"]).name, one["line"], one["message"]) for one in found]


@pytest.mark.parametrize("errors_of", [errors_of_pyright, errors_of_mypy])
def test_type_checkers_accept_programs_and_find_mistakes(errors_of, tmp_path):
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    (tmp_path / "typed_program.py").write_text(PROGRAM.read_text())
    wrong = ["import gyre", "x = gyre.zeros([2, 2])", *MISTAKES]
    (tmp_path / "mistakes.py").write_text("\n".join(wrong) + "\n")
    found = errors_of(tmp_path)
    assert [error for error in found if error[0] != "mistakes.py"] == []
    assert sorted({line for _, line, _ in found}) == list(range(3, 3 + len(MISTAKES))), found


def test_type_checkers_know_every_public_name(tmp_path):
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "basic"}')
    names = [f"gyre.{name}" for name in sorted(facade.names()) if not name.startswith("raw_ops.")]
    (tmp_path / "names.py").write_text("\n".join(["import gyre", *names]) + "\n")
    wrong = [message for _, _, message in errors_of_pyright(tmp_path)]
    assert wrong == []
