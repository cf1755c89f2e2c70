"""The generated stubs are Python, and name what the package has."""

import ast
import importlib.util
from pathlib import Path

import gyre

TOOL = Path(__file__).parents[3] / "python" / "tools" / "make_stubs.py"


def test_stubs(tmp_path):
    spec = importlib.util.spec_from_file_location("make_stubs", TOOL)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    tool.main(tmp_path)
    files = {
        path.relative_to(tmp_path).as_posix(): ast.parse(path.read_text())
        for path in tmp_path.rglob("*.pyi")
    }
    defined = {node.name for node in files["raw_ops.pyi"].body if isinstance(node, ast.FunctionDef)}
    assert defined == set(dir(gyre.raw_ops))
    assert "add" in {
        node.name for node in files["math.pyi"].body if isinstance(node, ast.FunctionDef)
    }
    assert {"__init__.pyi", "nn/__init__.pyi", "random/__init__.pyi"} <= files.keys()
