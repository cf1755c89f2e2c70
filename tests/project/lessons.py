#!/usr/bin/env python3
"""The lessons: programs of examples/lessons, run, and made into pages below docs/lessons.

    lessons.py BUILD            runs every lesson of a build folder, and compares its page with what
                                would be made of it now
    lessons.py BUILD --write    makes the pages
    lessons.py --self-test      a lesson that is wrong, and a page that is old, must be noticed

In NN_name.cc, comments that stand after an empty line are prose, everything else is code. A line of
prose "    $ build/release/…" is how the lesson is run; it must exit with 0. NN_name_plugin.cc
belongs to the same page.
"""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LESSONS, PAGES = ROOT / "examples/lessons", ROOT / "docs/lessons"
COMMAND = re.compile(r"^// {5}\$ (?P<words>build/release/.+)$", re.MULTILINE)
BUILT = "build/release/"
TIMEOUT_SECONDS = 120
INDEX = """\
# Lessons

One program per construct, small enough to be read in a few minutes. Each computes its results in
another way, too, and says so if they differ. `./dev docs` makes these pages from
`examples/lessons`, and the tests run what they show. `./dev build` builds the programs.

"""


def blocks(source):
    """[(is_prose, lines)] of a program: comments after empty lines,
    and what stands between them."""
    result, is_after_gap = [], True
    for line in source.splitlines():
        comment = re.match(r"\s*// ?(.*)$", line)
        continues = result and result[-1][0] and not is_after_gap
        if comment and (is_after_gap or continues):
            if not continues:
                result.append((True, []))
            result[-1][1].append(comment.group(1))
        else:
            if not result or result[-1][0]:
                result.append((False, []))
            result[-1][1].append(line)
        is_after_gap = not line.strip()
    return result


def markdown(source):
    """A program as text with code in it."""
    parts = []
    for is_prose, lines in blocks(source):
        text = (
            "\n".join(lines).strip("\n")
            if is_prose
            else textwrap.dedent("\n".join(lines)).strip("\n")
        )
        if text:
            parts.append(text if is_prose else f"```cpp\n{text}\n```")
    return "\n\n".join(parts)


def page(source, plugin, output):
    """What docs/lessons/NN_name.md holds."""
    parts = [markdown(source), f"It prints:\n\n```\n{output.rstrip()}\n```"]
    if plugin:
        parts.append(markdown(plugin))
    return "\n\n".join(parts) + "\n"


def index(titles):
    """What docs/lessons/README.md holds."""
    rows = [f"- [{title}]({name}.md)\n" for name, title in titles]
    return INDEX + "".join(rows)


def run(source, build):
    """(what the lesson prints, None) or (None, what is wrong)."""
    command = COMMAND.search(source)
    if command is None:
        return None, "says nowhere how it is run"
    words = [
        str(build / word.removeprefix(BUILT)) if word.startswith(BUILT) else word
        for word in command["words"].split()
    ]
    ran = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS
    )
    if ran.returncode != 0:
        return None, f"exits with {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    return ran.stdout, None


def made_pages(build):
    """{path: text}, and {lesson: what is wrong with it}."""
    pages, wrong, titles = {}, {}, []
    for path in sorted(LESSONS.glob("[0-9]*.cc")):
        if path.stem.endswith("_plugin"):
            continue
        source = path.read_text(encoding="utf-8")
        plugin = path.with_name(f"{path.stem}_plugin.cc")
        output, complaint = run(source, build)
        if complaint:
            wrong[path.name] = complaint
            continue
        pages[PAGES / f"{path.stem}.md"] = page(
            source, plugin.read_text(encoding="utf-8") if plugin.exists() else "", output
        )
        titles.append((path.stem, re.search(r"// # Lesson (.+)", source)[1]))
    pages[PAGES / "README.md"] = index(titles)
    return pages, wrong


def stale(pages, kept):
    """The names of pages that are not what they should be;
    `kept` is {path: text} of those that are there."""
    return sorted(path.name for path in {*pages, *kept} if pages.get(path) != kept.get(path))


def self_test():
    """Whether what must be noticed is noticed, and nothing else."""
    source = (
        "// # Lesson 1: x\n//\n//     $ build/release/bin/x y\n"
        "int x;  // y\n// z\n\n  // Prose.\n  int y;\n"
    )
    checks = [
        [is_prose for is_prose, _ in blocks(source)] == [True, False, True, False],
        "```cpp\nint x;  // y\n// z\n```\n\nProse.\n\n```cpp\nint y;\n```" in markdown(source),
        COMMAND.search(source)["words"] == "build/release/bin/x y",
        stale({PAGES / "a": "1"}, {PAGES / "a": "1"}) == [],
        stale({PAGES / "a": "1"}, {PAGES / "a": "2", PAGES / "b": "1"}) == ["a", "b"],
    ]
    print(f"{sum(checks)} passed, {len(checks) - sum(checks)} failed, 0 skipped")
    return all(checks)


def main(arguments):
    if arguments == ["--self-test"]:
        return self_test()
    pages, wrong = made_pages(Path(arguments[0]).resolve())
    for name, complaint in wrong.items():
        print(f"{name} {complaint}")
    if arguments[1:] == ["--write"]:
        PAGES.mkdir(exist_ok=True)
        for path, text in pages.items():
            path.write_text(text, encoding="utf-8")
        print(f"{len(pages)} pages in {PAGES.relative_to(ROOT)}")
        return not wrong
    old = (
        []
        if wrong
        else stale(pages, {path: path.read_text(encoding="utf-8") for path in PAGES.glob("*.md")})
    )
    for name in old:
        print(f"docs/lessons/{name} is not what ./dev docs makes")
    failed = len(wrong) + len(old)
    print(f"{len(pages) - len(old)} passed, {failed} failed, 0 skipped")
    return failed == 0


if __name__ == "__main__":
    sys.exit(0 if main(sys.argv[1:]) else 1)
