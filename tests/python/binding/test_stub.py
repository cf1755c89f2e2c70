"""_gyre.pyi, by which types are checked, names what the module has."""

import ast
from pathlib import Path

import pytest

import gyre
from gyre import _gyre
from gyre._impl import graphs

STUB = ast.parse((Path(gyre.__file__).parent / "_gyre.pyi").read_text(encoding="utf-8"))
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def declared(nodes):
    """The names that statements of a stub declare."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def test_the_module_has_what_the_stub_names():
    assert [name for name in declared(STUB.body) if not hasattr(_gyre, name)] == []


def test_the_stub_names_what_the_module_has():
    dtypes = _gyre.all_dtypes()
    named = {*declared(STUB.body), *dtypes, *(f"{name}_ref" for name in dtypes)}
    made = {name for name in vars(_gyre) if not name.startswith("_")}
    assert made - named == set()


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes_have_what_the_stub_names(name):
    graphs.tensor_members.install()  # what sessions need of tensors
    kind = getattr(_gyre, name)
    assert [member for member in declared(CLASSES[name].body) if not hasattr(kind, member)] == []
