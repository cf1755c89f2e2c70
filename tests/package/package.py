#!/usr/bin/env python3
"""What `cmake --install` leaves can be used from elsewhere: installed into a temporary folder,
moved, then used by a program and a plug-in that know nothing of this checkout, with CMake and with
pkg-config. Plug-ins that are none, or do not fit, are refused in words.

    package.py BUILD      BUILD: a build folder of this checkout

Ends with "N passed, N failed, N skipped".
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = Path(__file__).resolve().parent / "outside"
LESSONS = ROOT / "examples/lessons"
COMPILER = os.environ.get("CXX", "g++")
VARIABLES = {"PKG_CONFIG_PATH", "CMAKE_PREFIX_PATH", "LD_LIBRARY_PATH"}
TIMEOUT_SECONDS = 300

INTERFACE = re.search(
    r"kPluginInterface = (\d+);", (ROOT / "src/ops/plugin.h").read_text(encoding="utf-8")
).group(1)

# Libraries that export something as `gyre_plugin` that is no plug-in of this Gyre.
STRANGERS = {
    "no_entry": ("int unrelated;", "it is no plug-in: it exports no 'gyre_plugin'"),
    "interface": (
        (
            'extern "C" { extern const unsigned gyre_plugin[6]; const unsigned gyre_plugin[6] = '
            "{99}; "
            "}"
        ),
        f"it was built for version 99 of the interface of plug-ins, and this is {INTERFACE}",
    ),
    "layout": (
        (
            f'extern "C" {{ extern const unsigned gyre_plugin[6]; const unsigned gyre_plugin[6] = '
            f"{{{INTERFACE}, 0, 7}}; }}"
        ),
        "its types are laid out in another way than Gyre's",
    ),
}


class Failure(Exception):
    """What a check found."""


def run(*words, code=0, cwd=None, **variables):
    """The output, both streams, of a command that must exit with `code`."""
    environment = {
        name: value for name, value in os.environ.items() if name not in VARIABLES
    } | variables
    ran = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=environment,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_SECONDS,
    )
    if ran.returncode != code:
        raise Failure(f"{shlex.join(map(str, words))}\nexits with {ran.returncode}:\n{ran.stdout}")
    return ran.stdout


def must_hold(text, part):
    if part not in text:
        raise Failure(f"no {part!r} in:\n{text}")


class Package:
    """An installation below `folder`, and what is built against it."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        self.prefix = folder / "moved to"
        self.gyre = self.prefix / "bin/gyre"
        self.lib = self.prefix / "lib"
        self.by_cmake = folder / "cmake"
        self.by_pkg_config = folder / "pkg-config"
        self.plugin = self.by_pkg_config / "cube.so"

    def can_be_installed_and_moved(self):
        """cmake --install, and a move to another folder."""
        run("cmake", "--install", self.build, "--prefix", self.folder / "first")
        (self.folder / "first").rename(self.prefix)

    def names_no_folder_of_this_machine(self):
        """No installed file holds the path of the checkout,
        of the build or of where it was installed first."""
        for path in self.prefix.rglob("*"):
            for folder in (ROOT, self.build, self.folder):
                if path.is_file() and str(folder).encode() in path.read_bytes():
                    raise Failure(f"{path.relative_to(self.prefix)} names {folder}")

    def exports_its_own_names_alone(self):
        """libgyre.so exports names of Gyre, and none of its parser of files."""
        table = run("nm", "-D", "--defined-only", "--format=posix", self.lib / "libgyre.so")
        names = [line.split()[0] for line in table.splitlines()]
        foreign = [
            name for name in names if not re.match(r"_Z(T[VISTWH]|Z|GVZ?)?N?[KR]*N?K?R?4gyre", name)
        ]
        if foreign or any("4gyre4wire" in name for name in names):
            raise Failure(f"foreign names: {foreign[:10]}")

    def headers_stand_alone(self):
        """Each public header compiles by itself."""
        flags = self.pkg_config("--cflags")

        def compile_alone(header):
            run(
                COMPILER,
                "-std=c++20",
                "-fsyntax-only",
                "-Wall",
                "-Wextra",
                "-x",
                "c++",
                *flags,
                "-include",
                header.relative_to(self.prefix / "include"),
                os.devnull,
            )

        public = self.prefix / "include/gyre"
        headers = sorted([*public.glob("*.h"), *(public / "core").glob("*.h")])
        if len(headers) < 15:
            raise Failure(f"only {len(headers)} public headers")
        with ThreadPoolExecutor(2) as threads:
            list(threads.map(compile_alone, headers))

    def version_is_checked(self):
        """find_package(Gyre V) takes this minor version and no other."""
        script = self.folder / "version.cmake"
        script.write_text(
            'include("${GYRE}/GyreConfigVersion.cmake")\n'
            'message("${PACKAGE_VERSION} ${PACKAGE_VERSION_COMPATIBLE}")\n'
        )
        for wanted, compatible in ((("0", "1", "0"), "TRUE"), (("0", "2", "0"), "FALSE")):
            major, minor, patch = wanted
            said = run(
                "cmake",
                f"-DGYRE={self.lib}/cmake/Gyre",
                f"-DPACKAGE_FIND_VERSION={'.'.join(wanted)}",
                f"-DPACKAGE_FIND_VERSION_MAJOR={major}",
                f"-DPACKAGE_FIND_VERSION_MINOR={minor}",
                f"-DPACKAGE_FIND_VERSION_PATCH={patch}",
                "-P",
                script,
            )
            must_hold(said, compatible)
        version = said.split()[0]
        must_hold(run(self.gyre, "--version"), f"gyre {version}\n")
        must_hold(
            run("pkg-config", "--modversion", "gyre", PKG_CONFIG_PATH=f"{self.lib}/pkgconfig"),
            version,
        )

    def pkg_config(self, *words):
        return shlex.split(
            run("pkg-config", *words, "gyre", PKG_CONFIG_PATH=f"{self.lib}/pkgconfig")
        )

    def sources(self, folder):
        """A copy of the outside project."""
        shutil.copytree(OUTSIDE, folder)
        for name in ("08_own_op.cc", "08_own_op_plugin.cc", "lesson.h"):
            shutil.copy(LESSONS / name, folder)
        return folder

    def with_cmake(self):
        """find_package(Gyre): the program runs, with its plug-in."""
        source = self.sources(self.by_cmake)
        run(
            "cmake",
            "-G",
            "Ninja",
            "-S",
            source,
            "-B",
            source / "build",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror",
        )
        run("cmake", "--build", source / "build")
        must_hold(run(source / "build/program", source / "build/libcube.so"), "2 cubed = 8\n")

    def with_pkg_config(self):
        """pkg-config and a compiler: the program runs, with its plug-in."""
        source = self.sources(self.by_pkg_config)
        flags = self.pkg_config("--cflags", "--libs")
        run(
            COMPILER,
            "-std=c++20",
            "08_own_op.cc",
            "-o",
            "program",
            *flags,
            f"-Wl,-rpath,{self.lib}",
            cwd=source,
        )
        run(
            COMPILER,
            "-std=c++20",
            "-shared",
            "-fPIC",
            "08_own_op_plugin.cc",
            "-o",
            self.plugin,
            *flags,
            cwd=source,
        )
        must_hold(
            run(source / "program", "cube.so", cwd=source, LD_LIBRARY_PATH=str(self.lib)),
            "2 cubed = 8\n",
        )

    def both_dialects(self):
        """The headers of gyre/ and of gyre/core serve a program without anything of src/."""
        flags = self.pkg_config("--cflags", "--libs")
        program = self.folder / "two_dialects"
        source = OUTSIDE / "two_dialects.cc"
        run(COMPILER, "-std=c++20", source, "-o", program, *flags, f"-Wl,-rpath,{self.lib}")
        said = run(program)
        for line in (
            "core: float32[2] [1 4]\n",
            "core: CANCELLED\n",
            "gyre: [9 16]\n",
            "gyre: INVALID_ARGUMENT\n",
            "gyre: a tensor of float32 [2] was read as one of int32\n",
        ):
            must_hold(said, line)

    def command_line_takes_the_plugin(self):
        """Every command of bin/gyre loads a plug-in."""
        graph = OUTSIDE / "cube.gyre"
        made = self.folder / "cube.pb"
        with_plugin = ("--plugin", self.plugin)
        must_hold(
            run(self.gyre, "run", graph, *with_plugin, "--feed", "x=[1,3]", "--fetch", "y"),
            "[1 27]",
        )
        must_hold(run(self.gyre, "ops", "Cube", *with_plugin), "has a rule")
        must_hold(run(self.gyre, "ops", *with_plugin), f"plug-in {self.plugin}\n  Cube: ")
        must_hold(run(self.gyre, "passes", graph, *with_plugin), "nodes before")
        must_hold(run(self.gyre, "show", graph, *with_plugin, "--gradient", "y:x"), "Mul(")
        run(self.gyre, "convert", graph, made, *with_plugin)
        must_hold(run(self.gyre, "show", made, f"--plugin={self.plugin}"), "Cube(%x)")
        must_hold(run(self.gyre, "run", made, "--feed", "x=[1,3]", "--fetch", "y", code=1), "Cube")

    def strangers_are_refused(self):
        """What is no plug-in, or does not fit, is an error that says so."""

        def refused(path, message, *others):
            said = run(self.gyre, "ops", *others, "--plugin", path, code=2)
            must_hold(said, f"plug-in '{path}'")
            must_hold(said, message)

        refused(self.folder / "absent.so", "")
        text = self.folder / "text.so"
        text.write_text("no library\n")
        refused(text, "it is no shared library that can be loaded here")
        for name, (source, message) in STRANGERS.items():
            library = self.folder / f"{name}.so"
            (self.folder / f"{name}.cc").write_text(source)
            run(COMPILER, "-shared", "-fPIC", self.folder / f"{name}.cc", "-o", library)
            refused(library, message)
        # The same ops once more; the same library once more is no error.
        copy = self.folder / "copy.so"
        shutil.copy(self.plugin, copy)
        refused(
            copy,
            f"there is an op called Cube already, of plug-in {self.plugin}",
            "--plugin",
            self.plugin,
        )
        run(self.gyre, "ops", "--plugin", self.plugin, "--plugin", self.plugin)
        # Built with another version of Gyre.
        old = self.folder / "old.so"
        content = self.plugin.read_bytes()
        linked = re.search(rb"libgyre\.so\.\d+\.\d+", content).group()
        old.write_bytes(content.replace(linked, re.sub(rb"\d", b"9", linked)))
        refused(
            old,
            f"it is linked with {re.sub(r'[0-9]', '9', linked.decode())}, and this is "
            f"{linked.decode()}",
        )

    def checks(self):
        """In an order in which each finds what it needs."""
        return [
            self.can_be_installed_and_moved,
            self.names_no_folder_of_this_machine,
            self.exports_its_own_names_alone,
            self.version_is_checked,
            self.with_cmake,
            self.with_pkg_config,
            self.both_dialects,
            self.headers_stand_alone,
            self.command_line_takes_the_plugin,
            self.strangers_are_refused,
        ]


def main(build):
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="gyre-package-") as folder:
        package = Package(build, Path(folder))
        for check in package.checks():
            try:
                check()
                passed += 1
                print(f"ok    {check.__doc__}", flush=True)
            except Failure as failure:
                failed += 1
                print(f"FAIL  {check.__doc__}\n{failure}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed == 0


if __name__ == "__main__":
    sys.exit(0 if main(Path(sys.argv[1]).resolve()) else 1)
