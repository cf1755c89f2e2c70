#!/usr/bin/env python3
"""The worked examples of CONTRIBUTING.md, applied to a copy of the sources, built and tried.

    worked_examples.py BUILD         an op and a pass come to be as the text says, in so many files
    worked_examples.py --self-test   a text that does not fit the sources must be noticed

A block of code belongs to the file that the paragraph before it begins with. A block of `diff` is
what is to be replaced (`-`) and by what (`+`), in turn; all others are whole files. Only what the
text touches is compiled; it is linked in place of what BUILD has of it. Where BUILD has the Python
module, Python is asked, too.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"^`(?P<path>[\w/.]+)`[^`#]*?:\n\n```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
MOST_FILES = {"An op": 3, "A pass": 4}

PROGRAM = """\
import numpy as np

import gyre

x = np.array([[0.5, 8.0, 27.0], [1.0, 3.0, 64.0]])
root = gyre.math.cbrt(gyre.constant(x))
assert np.allclose(root.numpy(), np.cbrt(x), rtol=1e-15), root
with gyre.GradientTape() as tape:
    v = gyre.Variable(x)
    y = gyre.math.cbrt(v)
step = 1e-6
slope = (np.cbrt(x + step) - np.cbrt(x - step)) / (2 * step)
assert np.allclose(tape.gradient(y, v).numpy(), slope, rtol=1e-6)
traced = gyre.function(gyre.math.cbrt).get_concrete_function(gyre.TensorSpec([None, 3]))
assert traced.structured_outputs.shape.as_list() == [None, 3], traced.structured_outputs
rows = gyre.function(lambda x: gyre.vectorized_map(gyre.math.cbrt, x))
assert np.array_equal(rows(gyre.constant(x)).numpy(), root.numpy())
batched = rows.get_concrete_function(gyre.TensorSpec([None, 3])).graph.text()
assert "Cbrt(" in batched and "While(" not in batched and "For(" not in batched, batched
"""


class Mistake(Exception):
    """What is wrong with the text."""


def sections(text):
    """{"An op": blocks, "A pass": blocks} of the text: (path, kind, code) each."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        title = part.split(",")[0]
        if title in MOST_FILES:
            found[title] = [(m["path"], m["kind"], m["text"]) for m in BLOCK.finditer(part)]
    return found


def replacements(code):
    """[(old, new)] of a block of `diff`."""
    pairs = []
    for line in code.splitlines():
        if line.startswith("-") and (not pairs or pairs[-1][1]):
            pairs.append(([], []))
        pairs[-1][line.startswith("+")].append(line[1:])
    return [("\n".join(old), "\n".join(new)) for old, new in pairs]


def apply(blocks, copy, root=ROOT):
    """Writes the files of the blocks below `copy`."""
    for path, kind, code in blocks:
        source, target = root / path, copy / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if kind != "diff":
            if source.exists():
                raise Mistake(f"{path} is there already")
            target.write_text(code)
            continue
        text = source.read_text()
        for old, new in replacements(code):
            if text.count(old) != 1:
                raise Mistake(f"{path} has {text.count(old)} times: {old}")
            text = text.replace(old, new)
        target.write_text(text)


class Build:
    """A build folder, and what a copy of some sources puts in place of its own objects."""

    def __init__(self, folder, copy):
        self.folder, self.copy = Path(folder).resolve(), copy
        self.objects, self.replaced = [], set()

    def _ask(self, *words):
        ninja = ["ninja", "-C", str(self.folder), "-t", *words]
        return subprocess.run(ninja, check=True, capture_output=True, text=True).stdout

    def _command(self, target):
        """The words that make a target."""
        line = self._ask("commands", "-s", target).splitlines()[-1]
        return shlex.split(line.removeprefix(": && ").removesuffix(" && :").split(" && ")[0])

    def _object_of(self, path):
        return re.search(r"^\s+(\S+\.o)$", self._ask("query", str(ROOT / path)), re.M).group(1)

    def compile(self, path, like):
        """Compiles a file of the copy with the flags that `like` has in the build."""
        own = self._object_of(like)
        words = self._command(own)
        made = self.copy / (path.replace("/", "_") + ".o")
        words[words.index("-c") + 1] = str(self.copy / path)
        words[words.index("-o") + 1] = str(made)
        words[words.index("-MF") + 1] = str(made) + ".d"
        words = [
            re.sub("^-DGYRE_SOURCE_DIR=.*", f'-DGYRE_SOURCE_DIR="{self.copy}"', w) for w in words
        ]
        first = next(i for i, word in enumerate(words) if word.startswith("-I"))
        words[first:first] = [f"-I{self.copy}/src", f"-I{self.copy}/tests"]
        run(words, self.folder)
        self.objects.append(str(made))
        if path == like:
            self.replaced.add(own)

    def link(self, target):
        """A program or library as the build links it, with the objects of the copy first."""
        words = [word for word in self._command(target) if word not in self.replaced]
        output = words.index("-o") + 1
        words[output] = str(self.copy / Path(target).name)
        words[output + 1 : output + 1] = self.objects
        run(words, self.folder)
        return words[output]


def run(words, folder, **environment):
    """What a program prints. Mistake: it fails."""
    done = subprocess.run(
        words, cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise Mistake(
            f"{' '.join(map(str, words))[-300:]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def require(text, part, what):
    """Mistake unless the text has the part."""
    if part not in text:
        raise Mistake(f"{what} lacks: {part}\n{text[-2000:]}")


def link_library(build):
    """libgyre.so, under the name that programs look for."""
    made = Path(
        build.link("lib/" + os.path.basename(os.path.realpath(build.folder / "lib/libgyre.so")))
    )
    name = os.readlink(build.folder / "lib/libgyre.so")
    if made.name != name:
        made.rename(made.with_name(name))


def try_op(build, python):
    """The op of the text, in C++, Python and the command line."""
    build.compile("src/ops/math/family.cc", like="src/ops/math/family.cc")
    build.compile("src/ops/math/cbrt.cc", like="src/ops/math/family.cc")
    generator = build.link("bin/gyre_ops_generator")
    run([generator, "ops.h", "functions.h", "ops.cc"], build.copy)
    header = (build.copy / "ops.h").read_text()
    for declared in ("Value Cbrt(const Operand& x);", "Value cbrt(const Operand& x);"):
        require(header, declared, "gyre/ops.h")
    link_library(build)
    shown = run(
        [build.folder / "bin/gyre", "ops", "Cbrt"], build.copy, LD_LIBRARY_PATH=str(build.copy)
    )
    require(shown, "math.cbrt", "gyre ops")
    if python:
        module = next((build.folder / "lib").glob("_gyre*.so"))
        shutil.copytree(ROOT / "python/gyre", build.copy / "python/gyre", symlinks=True)
        for old in (build.copy / "python/gyre").glob("*.so*"):
            old.unlink()
        shutil.copy(module, build.copy / "python/gyre" / module.name)
        library = next(build.copy.glob("libgyre.so*"))
        shutil.copy(library, build.copy / "python/gyre" / library.name)
        run([python, "-c", PROGRAM], build.copy, PYTHONPATH=str(build.copy / "python"))
    build.compile("tests/grad/cbrt_test.cc", like="tests/grad/math_rules_test.cc")
    tests = build.link("bin/tests/grad_test")
    require(run([tests, "--gtest_filter=Cbrt.*"], build.copy), "[  PASSED  ] 2 tests", "grad_test")


def try_pass(build, _):
    """The pass of the text: its case comes out as the text says."""
    build.compile("src/passes/pipeline.cc", like="src/passes/pipeline.cc")
    build.compile("src/passes/order.cc", like="src/passes/pipeline.cc")
    shutil.copy(ROOT / "tests/support/paths.cc", build.copy / "tests")
    build.compile("tests/paths.cc", like="tests/support/paths.cc")
    tests = build.link("bin/tests/transforms_test")
    require(
        run([tests, "--gtest_filter=order.*"], build.copy), "[  PASSED  ] 1 test", "transforms_test"
    )


def check(folder, python):
    """Applies and tries both examples."""
    found = sections((ROOT / "CONTRIBUTING.md").read_text())
    for title, attempt in (("An op", try_op), ("A pass", try_pass)):
        blocks = found.get(title, [])
        if not 0 < len(blocks) <= MOST_FILES[title]:
            raise Mistake(f"{title} takes {len(blocks)} files, not 1 to {MOST_FILES[title]}")
        with tempfile.TemporaryDirectory() as copy:
            apply(blocks, Path(copy))
            attempt(Build(folder, Path(copy)), python)


def self_test():
    """Whether a text that does not fit is noticed, and one that does is not."""
    text = "## An op, made\n\n`a/b.cc` is new:\n\n```cpp\nint x;\n```\n\n`a/c.cc` lists it:\n\n"
    text += "```diff\n-old\n+new\n+er\n```\n"

    def outcome(c_text, *files):
        with tempfile.TemporaryDirectory() as folder:
            root, copy = Path(folder, "root"), Path(folder, "copy")
            (root / "a").mkdir(parents=True)
            (root / "a/c.cc").write_text(c_text)
            for path in files:
                (root / path).write_text("")
            try:
                apply(sections(text)["An op"], copy, root)
            except Mistake as mistake:
                return str(mistake)
            return (copy / "a/b.cc").read_text() + (copy / "a/c.cc").read_text()

    checks = [
        outcome("1 old 2") == "int x;\n1 new\ner 2",
        outcome("1 2") == "a/c.cc has 0 times: old",
        outcome("old old") == "a/c.cc has 2 times: old",
        outcome("old", "a/b.cc") == "a/b.cc is there already",
    ]
    print(f"{sum(checks)} passed, {len(checks) - sum(checks)} failed, 0 skipped")
    return all(checks)


def main(words):
    """0: all is as the text says."""
    if words == ["--self-test"]:
        return 0 if self_test() else 1
    folder = Path(words[0])
    python = os.environ.get("GYRE_TEST_PYTHON", ROOT / "build/venv/bin/python")
    has_module = any((folder / "lib").glob("_gyre*.so")) and Path(python).exists()
    try:
        check(folder, str(python) if has_module else None)
    except Mistake as mistake:
        print(f"CONTRIBUTING.md: {mistake}\n0 passed, 1 failed, 0 skipped")
        return 1
    print("2 passed, 0 failed, 0 skipped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
