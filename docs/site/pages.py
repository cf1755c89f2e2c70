#!/usr/bin/env python3
"""The pages of the documentation site: those of docs/, and the reference, made from the program
itself.

    build/venv/bin/python docs/site/pages.py

build/site-pages becomes the pages, build/mkdocs.yml says how they become a site. Operations and
commands come from build/release/bin/gyre, names of Python from the module that it imports, C++ from
the public headers.
"""

import inspect
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python/tools"))

from signatures import signature_of  # noqa: E402 (found by what stands above)

GYRE = ROOT / "build/release/bin/gyre"
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)((?:#[^)\s]*)?)\)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)
LINE_WIDTH = 76
COMMANDS = ("run", "show", "convert", "passes", "place", "check", "ops", "trace", "worker")


def site_path(path: Path) -> Path | None:
    """Where a file of the checkout is on the site; None: it is not there."""
    inside = path.resolve().relative_to(ROOT)
    if inside == Path("README.md"):
        return Path("index.md")
    if inside.parts[0] == "docs" and inside.suffix in {".md", ".svg", ".png"}:
        return Path(*inside.parts[1:])
    if inside.parts[:2] == ("examples", "python") and inside.suffix in {"", ".py"}:
        return Path("examples") / (inside.stem + ".md" if inside.suffix else "index.md")
    return None


def relinked(text: str, source: Path) -> str:
    """`text` of the page `source`, with links that lead where pages are on the site;
    others become plain words."""
    here = site_path(source).parent

    def link(match: re.Match) -> str:
        picture, words, target, anchor = match.groups()
        there = site_path(source.parent / target)
        if there is None:
            return f"{words} (`{(source.parent / target).resolve().relative_to(ROOT)}`)"
        up = Path(*[".."] * len(here.parts)) / there
        return f"{picture}[{words}]({up.as_posix()}{anchor})"

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(link, part) for i, part in enumerate(parts))


def kept_pages():
    """(path, text) of pages that are written by hand or made by other scripts."""
    for source in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        yield site_path(source), relinked(source.read_text(encoding="utf-8"), source)


def example_pages():
    """A page for each program of examples/python: what it says of itself, and its code."""
    lines = ["# Examples", "", "Programs in Python; the tests run them.", ""]
    for source in sorted((ROOT / "examples/python").glob("*.py")):
        code = source.read_text(encoding="utf-8")
        about = inspect.cleandoc(re.match(r'(?:#.*\n)*"""(.*?)"""', code, re.S)[1])
        title = about.split("\n", 1)[0].rstrip(".")
        yield (
            Path("examples") / f"{source.stem}.md",
            f"# {title}\n\n`examples/python/{source.name}`\n\n```python\n{code}```\n",
        )
        lines.append(f"- [{title}]({source.stem}.md)")
    yield Path("examples/index.md"), "\n".join(lines) + "\n"


def told(*words: str) -> str:
    return subprocess.run([GYRE, *words], capture_output=True, text=True, check=True).stdout


def command_page():
    parts = ["# The command line", "", "```", told("help").rstrip(), "```", ""]
    for command in COMMANDS:
        parts += [f"## gyre {command}", "", "```", told("help", command).rstrip(), "```", ""]
    yield Path("reference/command_line.md"), "\n".join(parts)


def operation_pages():
    """A page for each family of ops."""
    families, index = (
        {},
        ["# Operations", "", "Schemas, effects and gradients, as `gyre ops NAME` prints them.", ""],
    )
    for line in told("ops").splitlines():
        if line and not line.startswith(" "):
            family = families.setdefault(line, [])
        elif line.strip():
            family.append(line.strip().split(":", 1)[0])
    for family, names in families.items():
        name = re.sub(r"\W+", "_", family.lower()).strip("_")
        parts = [f"# {family}", ""]
        for op in names:
            parts += [f"## {op}", "", "```", told("ops", op).rstrip(), "```", ""]
        yield Path("reference/operations") / f"{name}.md", "\n".join(parts)
        index.append(f"- [{family}]({name}.md): {', '.join(names)}")
    yield Path("reference/operations/index.md"), "\n".join(index) + "\n"


def public_modules():
    """{dotted name: module}: the package, and what its modules list as their own."""
    import gyre  # the module that is described

    found = {"gyre": gyre}
    pending = ["gyre"]
    while pending:
        parent = pending.pop()
        for name in found[parent].__all__:
            value = getattr(found[parent], name)
            if isinstance(value, types.ModuleType) and hasattr(value, "__all__"):
                found[f"{parent}.{name}"] = value
                pending.append(f"{parent}.{name}")
    return dict(sorted(found.items()))


def shown_signature(value) -> str:
    try:
        return str(signature_of(value))
    except (TypeError, ValueError):
        return ""


def called(name: str, value) -> str:
    """How it is called: on one line, or with a line for each parameter."""
    line = name + shown_signature(value)
    if len(line) <= LINE_WIDTH or not shown_signature(value):
        return line
    signature = signature_of(value)
    returned = str(signature.replace(parameters=())).removeprefix("()")
    parts, is_open = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not is_open:
            parts.append("*")
        is_open |= parameter.kind in {parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL}
        parts.append(str(parameter))
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def described(name: str, value) -> list[str]:
    """A section: how it is called, and what it says of itself; of a class, its methods, too."""
    if not callable(value):
        text = (
            f"A {type(value).__name__}: `{value!r}`"
            if not isinstance(value, types.ModuleType)
            else ""
        )
        return [f"## {name}", "", text, ""]
    parts = [f"## {name}", "", "```python", called(name, value), "```", ""]
    about = inspect.getdoc(value)
    if about:
        parts += ["```text", about, "```", ""]
    if inspect.isclass(value):
        for member, function in sorted(vars(value).items()):
            doc = inspect.getdoc(function)
            if not member.startswith("_") and callable(function) and doc:
                first = " ".join(doc.partition("\n\n")[0].split())
                parts.append(f"- `{member}{shown_signature(function)}`: {first}")
        parts.append("")
    return parts


def python_pages():
    """A page for each public module."""
    index = ["# Python", "", "Every public name, as the module itself describes it.", ""]
    for dotted, module in public_modules().items():
        parts = [f"# {dotted}", "", inspect.getdoc(module) or "", ""]
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if not isinstance(value, types.ModuleType):
                parts += described(f"{dotted}.{name}", value)
        yield Path("reference/python") / f"{dotted}.md", "\n".join(parts)
        index.append(f"- [{dotted}]({dotted}.md): {len(module.__all__)} names")
    yield Path("reference/python/index.md"), "\n".join(index) + "\n"


def cpp_pages():
    """A page for each public header: the comment at its top as text, then the header. Those of
    gyre/core follow those of gyre."""
    index = ["# C++", "", "The public headers, with the contract of each function.", ""]
    include = ROOT / "include"
    for header in (
        *sorted((include / "gyre").glob("*.h")),
        *sorted((include / "gyre/core").glob("*.h")),
    ):
        name = header.relative_to(include)
        page = "core_" + header.stem if header.parent.name == "core" else header.stem
        text = header.read_text(encoding="utf-8").replace("GYRE_EXPORT ", "")
        top, code = re.match(r"((?://.*\n)*)(.*)", text, re.S).groups()
        about = re.sub(r"^// ?", "", top, flags=re.M).strip()
        yield (
            Path("reference/cpp") / f"{page}.md",
            f"# {name}\n\n```text\n{about}\n```\n\n```cpp\n{code.strip()}\n```\n",
        )
        first = about.split(". ")[0].replace("\n", " ")
        index.append(f"- [{name}]({page}.md): {first}")
    yield Path("reference/cpp/index.md"), "\n".join(index) + "\n"


def error_page():
    """What CONTRIBUTING.md says of errors."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    yield (
        Path("reference/errors.md"),
        "# Errors\n" + text.split("\n## Errors\n", 1)[1].split("\n## ", 1)[0],
    )


def navigated(config: str, out: Path) -> str:
    """mkdocs.yml with "- Name: folder/" as the list of the folder's pages."""

    def expanded(match: re.Match) -> str:
        indent, name, folder = match.groups()
        pages = sorted(
            (out / folder).glob("*.md"),
            key=lambda page: (page.stem not in {"index", "README"}, page.stem),
        )
        return "\n".join(
            [f"{indent}- {name}:"] + [f"{indent}    - {folder}{page.name}" for page in pages]
        )

    return re.sub(r"^( *)- ([^:\n]+): (\S+/)$", expanded, config, flags=re.M)


def main() -> None:
    out = ROOT / "build/site-pages"
    shutil.rmtree(out, ignore_errors=True)
    count = 0
    for pages in (
        kept_pages,
        example_pages,
        command_page,
        operation_pages,
        python_pages,
        cpp_pages,
        error_page,
    ):
        for path, text in pages():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_text(text, encoding="utf-8")
            count += 1
    shutil.copytree(ROOT / "docs/pictures", out / "pictures")
    config = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
    (ROOT / "build/mkdocs.yml").write_text(navigated(config, out), encoding="utf-8")
    print(f"{count} pages")


if __name__ == "__main__":
    main()
