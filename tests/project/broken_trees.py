"""The self-test of budgets.py: a small tree that all checks accept, and ways to break it.

Each way names the check that must notice it; a check that nothing here can fail is itself a
failure.
"""

import tempfile
from pathlib import Path

import sources

GOOD = {
    ".gitignore": "# Builds\n/build/\n__pycache__/\n/python/gyre/*.so\n",
    "build/venv": Path("/nowhere/venv"),
    "python/gyre/__pycache__/x.pyc": Path("/nowhere/x.pyc"),
    "python/gyre/_gyre.so": Path("/nowhere/_gyre.so"),
    "include/gyre/core/tensor.h": "// A tensor.\n#pragma once\n#include <vector>\n",
    "include/gyre/core/session.h": '// A session.\n#pragma once\n#include "gyre/core/tensor.h"\n',
    "src/base/README.md": "# Base\n",
    "src/base/check.h": "// Checks.\n#pragma once\n",
    "src/tensor/README.md": "# Tensors\n",
    "src/tensor/tensor.cc": (
        '#include "gyre/core/tensor.h"\n#include "base/check.h"\nint F(int x) {\n  return x;\n}\n'
    ),
    "src/ops/README.md": "# Ops\n",
    "src/ops/registry.h": "// All ops.\n#pragma once\n",
    "src/ops/registry.cc": '#include "ops/math/family.h"\n',
    "src/ops/math/family.h": '// Maths.\n#pragma once\n#include "ops/registry.h"\n',
    "src/ops/array/family.h": '// Arrays.\n#pragma once\n#include "ops/registry.h"\n',
    "tests/golden/case/case.json": "{}\n",
}


def long_function(lines):
    return "void Long() {\n" + "  Step();\n" * (lines - 2) + "}\n"


# (what is broken, the check that must notice, files added to the good tree or put in place of its
# own)
BROKEN = [
    ("a file of 1,001 lines", "check_file_length", {"src/base/long.cc": "int x;\n" * 1001}),
    (
        "too many files of 501 lines",
        "check_file_length",
        {f"src/base/long{i}.cc": "int x;\n" * 501 for i in range(9)},
    ),
    (
        "a loop over what a pointer that nobody keeps points to",
        "check_walked_lists_live",
        {"src/base/walk.cc": "void F() {\n  for (const X& x : *a.All()) x.Do();\n}\n"},
    ),
    ("a folder of 41 files", "check_folder_size", {f"tests/ops/f{i}.cc": "\n" for i in range(41)}),
    ("a function of 151 lines", "check_function_length", {"src/base/f.cc": long_function(151)}),
    (
        "a method of 151 lines",
        "check_function_length",
        {
            "src/base/f.cc": "namespace a {\nclass B : public C<int> {\n public:\n"
            "  explicit B(int x)\n      : x_{x}, y_(2) {\n" + "    x;\n" * 150 + "  }\n};\n}\n"
        },
    ),
    (
        "a module of the package of 1,001 lines",
        "check_file_length",
        {"python/gyre/long.py": "x = 1\n" * 1001},
    ),
    (
        "too many modules of the package of 501 lines, among many short files of others",
        "check_file_length",
        {f"python/gyre/long{i}.py": "x = 1\n" * 501 for i in range(2)}
        | {f"tests/ops/short{i}.cc": "int x;\n" for i in range(39)},
    ),
    (
        "a Python function of 151 lines",
        "check_function_length",
        {"tests/peers/f.py": "def f():\n" + "    pass\n" * 150},
    ),
    (
        "many functions of 41 lines",
        "check_function_length",
        {"src/base/f.cc": "\n".join([long_function(41)] * 30)},
    ),
    (
        "base includes ops",
        "check_layering",
        {"src/base/check.h": '// C.\n#include "ops/registry.h"\n'},
    ),
    (
        "tensor includes a session's public header",
        "check_layering",
        {"src/tensor/tensor.cc": '#include "gyre/core/session.h"\n'},
    ),
    (
        "graphdef includes its sibling passes",
        "check_layering",
        {
            "src/graphdef/README.md": "# G\n",
            "src/graphdef/import.cc": '#include "passes/prune.h"\n',
        },
    ),
    (
        "devices includes ir",
        "check_layering",
        {"src/devices/README.md": "# D\n", "src/devices/cpu.cc": '#include "ir/program.h"\n'},
    ),
    (
        "a folder that is no layer",
        "check_layering",
        {"src/utils/README.md": "# U\n", "src/utils/u.cc": "\n"},
    ),
    (
        "protobuf in tensor",
        "check_protobuf_stays_with_files",
        {"src/tensor/tensor.cc": "#include <google/protobuf/message.h>\n"},
    ),
    (
        "generated messages in exec",
        "check_protobuf_stays_with_files",
        {
            "src/exec/README.md": "# E\n",
            "src/exec/run.cc": '#include "wire/graph.pb.h"\n',
        },
    ),
    (
        "a message in two files",
        "check_one_schema",
        {
            f"src/{folder}/a.proto": "package gyre.wire;\nmessage NodeDef {\n}\n"
            for folder in ("base", "tensor")
        },
    ),
    (
        "a tag written by hand",
        "check_one_schema",
        {"python/gyre/_impl/events.py": '"""E."""\ntag = number <' + "< 3 | 2\n"},
    ),
    (
        "op families include each other",
        "check_no_include_cycles",
        {
            "src/ops/math/family.h": '// M.\n#include "ops/array/family.h"\n',
            "src/ops/array/family.h": '// A.\n#include "ops/math/family.h"\n',
        },
    ),
    (
        "base and tensor include each other",
        "check_no_include_cycles",
        {"src/base/check.h": '// C.\n#include "tensor/shape.h"\n'},
    ),
    (
        "21 public headers",
        "check_public_headers",
        {f"include/gyre/h{i}.h": "// H.\n" for i in range(21)},
    ),
    (
        "a public function that returns a Status",
        "check_dialects",
        {"include/gyre/graph.h": "// G.\nabsl::Status save(const std::string& path);\n"},
    ),
    (
        "a public function in CamelCase",
        "check_dialects",
        {"include/gyre/graph.h": "// G.\nGYRE_EXPORT void LoadPlugin(const char* path);\n"},
    ),
    (
        "a function of the core in snake_case",
        "check_dialects",
        {"include/gyre/core/op.h": "// O.\nGYRE_EXPORT void load_plugin(const char* path);\n"},
    ),
    ("a public header without a layer", "check_public_headers", {"include/gyre/new.h": "// N.\n"}),
    (
        "protobuf in a public header",
        "check_public_headers",
        {"include/gyre/core/tensor.h": "// T.\n#include <google/protobuf/message.h>\n"},
    ),
    (
        "CUDA in a public header",
        "check_public_headers",
        {"include/gyre/core/tensor.h": "// T.\n#include <cuda_runtime.h>\n"},
    ),
    (
        "a public header that includes an internal one",
        "check_public_headers",
        {"include/gyre/core/tensor.h": '// T.\n#include "base/check.h"\n'},
    ),
    ("a folder without a README", "check_readmes", {"src/ir/node.cc": "\n"}),
    (
        "a README that a formatter took for code",
        "check_readmes",
        {"src/base/README.md": "#base : what\n"},
    ),
    ("a header without a comment", "check_header_comments", {"src/base/bare.h": "#pragma once\n"}),
    ("a module without a docstring", "check_header_comments", {"python/gyre/bare.py": "x = 1\n"}),
    (
        "a path of one machine",
        "check_nothing_local",
        {"src/base/README.md": "# See /" + "home/ann/x.\n"},
    ),
    (
        "a link to a place of one machine",
        "check_nothing_local",
        {"python/gyre/messages.binpb": Path("/nowhere/messages.binpb")},
    ),
    (
        "a file written past tensor/io",
        "check_file_access",
        {"src/ir/dump.cc": "std::ofstream out(path);\n"},
    ),
    (
        "a file renamed past tensor/io",
        "check_file_access",
        {"src/ir/dump.cc": "if (::rename(a, b) != 0) return;\n"},
    ),
    (
        "a file written past the core",
        "check_file_access",
        {"python/gyre/_impl/dump.py": "with open(path, \"wb\") as out:\n    out.write(b'')\n"},
    ),
    ("a link to nowhere", "check_pages", {"docs/page.md": "# P\n\nSee [that](../src/gone.md).\n"}),
    ("a long README", "check_pages", {"README.md": "# G\n" + "\n" * 200}),
    (
        "many imports inside functions",
        "check_python_imports",
        {
            "python/gyre/low.py": "",
            "python/gyre/high.py": "def f():\n    from gyre import low\n" * 200,
        },
    ),
    (
        "a long circle of imports",
        "check_python_imports",
        {f"python/gyre/m{i}.py": f"import gyre.m{(i + 1) % 90}\n" for i in range(90)},
    ),
    (
        "a Python layer that imports a higher one",
        "check_python_layers",
        {
            "python/gyre/_impl/autograph/calls.py": "",
            "python/gyre/_impl/tracing/state.py": "from gyre._impl.autograph import calls\n",
        },
    ),
    (
        "a Python folder without a row",
        "check_python_layers",
        {
            "python/gyre/_impl/shape.py": "",
            "python/gyre/_impl/utils/u.py": "from gyre._impl import shape\n",
        },
    ),
    (
        "a public module that stands on a leaf",
        "check_python_layers",
        {
            "python/gyre/_impl/compat/v1/layer.py": "",
            "python/gyre/nn.py": "from gyre._impl.compat.v1 import layer\n",
        },
    ),
    (
        "a module that imports the backend of Keras",
        "check_python_layers",
        {
            "python/gyre/_keras/hook.py": "",
            "python/gyre/nn.py": "from gyre._keras import hook\n",
        },
    ),
    (
        "a backend of Keras that looks inside",
        "check_python_layers",
        {
            "python/gyre/_impl/shape.py": "",
            "python/gyre/_keras/hook.py": "from gyre._impl import shape\n",
        },
    ),
    (
        "an op asked for by its name",
        "check_op_names",
        {"src/ir/dump.cc": 'if (node.op_name == "Neg") return;\n'},
    ),
    (
        "an op compared with a name",
        "check_op_names",
        {"src/ir/dump.cc": "return n.op_name == name;\n"},
    ),
    (
        "a function of C++ that the registry has",
        "check_public_names",
        {
            "src/ops/math/tan.cc": 'ops.Add({.schema = "Tan(x: T)", .api = {"math.tan"}});\n',
            "include/gyre/math.h": "// Maths.\n#pragma once\n"
            "GYRE_EXPORT Value tan(const Operand& x);\n",
        },
    ),
    (
        "a function of Python that the registry has",
        "check_public_names",
        {
            "src/ops/math/tan.cc": 'AddUnaryOp(ops, "Tan", {"math.tan"}, kTypes);\n',
            "python/gyre/_impl/ops/elementwise.py": "def tan(x):\n    return x\n",
        },
    ),
    (
        "a table with a name that the registry has",
        "check_public_names",
        {
            "src/ops/math/tan.cc": 'ops.Add({.schema = "Tan(x: T)", .api = {"math.tan"}});\n',
            "python/gyre/_impl/names/math.py": 'NAMES = {"math.tan": "gyre:tan"}\n',
        },
    ),
    (
        "a conditional told by its kind",
        "check_loop_kinds",
        {"src/ir/dump.cc": "if (kind == OpKind::kCase) return;\n"},
    ),
    (
        "a loop told by its kind",
        "check_loop_kinds",
        {"src/ir/dump.cc": "if (kind == OpKind::kFor) return;\n"},
    ),
    (
        "a list of ops' names",
        "check_op_names",
        {"src/ir/dump.cc": "return absl::c_linear_search(kAll, n.op_name);\n"},
    ),
    (
        "a hash table of Abseil's",
        "check_allocation_failures",
        {"src/ir/names.cc": "absl::flat_hash_map<int, int> names;\n"},
    ),
    (
        "formats of Abseil's",
        "check_allocation_failures",
        {"src/ir/names.cc": 'return absl::StrFormat("%d", 1);\n'},
    ),
    (
        "a variable that nobody is told of",
        "check_environment_variables",
        {
            "src/base/env.cc": 'std::getenv("GYRE_HIDDEN");\n',
            "docs/guide/command_line.md": "`GYRE_FORM` is told of.\n",
        },
    ),
    (
        "a registry's host",
        "check_nothing_local",
        {"dev": "pip install -i https://py" + "pi.org/simple\n"},
    ),
]


def complaints_of(check, files):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(text, Path):
                (root / name).symlink_to(text)
            else:
                (root / name).write_text(text, encoding="utf-8")
        return check(root)


def self_test(checks):
    """[(title, complaints)]: the good tree passes, each break is noticed,
    lengths are counted right."""
    by_name = {check.__name__: check for check in checks}
    results = [
        (f"the good tree passes {name}", complaints_of(check, GOOD))
        for name, check in by_name.items()
    ]
    for title, name, files in BROKEN:
        noticed = complaints_of(by_name[name], GOOD | files)
        results.append((f"{name} notices {title}", [] if noticed else ["it did not"]))
    unproven = set(by_name) - {name for _, name, _ in BROKEN}
    results.append(("every check can fail", sorted(unproven)))
    results.append(("function lengths", function_length_complaints()))
    return results


CPP = """\
class Foo : public Bar<int(int)> {
 public:
  Foo() : a_{1},
          b_{2} {}
  auto g() const -> std::vector<int> {
    return R"({{{)"; // {
  }
  static constexpr int kT[] = {1, 2, 3};
};
template <class T>
void Long(T x,
          int y) {
  auto l = [&](int q) {
    return '{';
  };
}
GYRE_REGISTER(Op("x", {1, 2}, [](Ctx* c) -> Status {
  return Ok();
}));
extern "C" {
int main() { return 0; }
}
"""
CPP_FUNCTIONS = [(3, 2), (5, 3), (10, 7), (17, 3), (21, 1)]


def function_length_complaints():
    found = sources.cpp_functions(CPP)
    return [] if found == CPP_FUNCTIONS else [f"expected {CPP_FUNCTIONS}, found {found}"]
