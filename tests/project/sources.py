"""Reading the tree for the budget checks: which files there are, how long functions are,
what is included."""

import ast
import fnmatch
import re
import subprocess
from pathlib import Path

ROOTS = ("src", "include", "python", "tests", "examples", "bench", "docs/site")
SUFFIXES = (".cc", ".h", ".py", ".pyi", ".proto")
GOLDEN = "tests/golden/"


def tracked_files(root):
    """Paths below `root`, as strings, of the files that belong to the project."""
    return [name for name in tracked(root) if (root / name).is_file()]


def tracked_links(root):
    """The links that belong to the project, whether they lead to something or not."""
    return [name for name in tracked(root) if (root / name).is_symlink()]


def tracked(root):
    """What belongs to the project: git's list, or all but what .gitignore names."""
    git = (
        subprocess.run(
            ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"],
            capture_output=True,
            text=True,
            check=False,
        )
        if (root / ".git").exists() and has_git()
        else None
    )
    if git is not None and git.returncode == 0:
        names = git.stdout.splitlines()
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*")]
        is_ignored = ignored(root)
        names = [name for name in names if name.split("/")[0] != ".git" and not is_ignored(name)]
    return sorted(names)


def ignored(root):
    """Whether .gitignore names a path below `root`; it has no patterns with `**` or `!`."""
    page = root / ".gitignore"
    patterns = []
    for line in page.read_text(encoding="utf-8").splitlines() if page.is_file() else []:
        if line.strip() and not line.startswith("#"):
            pattern = line.strip().rstrip("/")
            patterns.append(pattern[1:] if pattern.startswith("/") else "**/" + pattern)

    def is_ignored(name):
        # A folder that is named takes all in it along.
        parts = name.split("/")
        for depth in range(1, len(parts) + 1):
            path, last = "/".join(parts[:depth]), parts[depth - 1]
            for pattern in patterns:
                anywhere = pattern.startswith("**/")
                if fnmatch.fnmatchcase(last if anywhere else path, pattern.removeprefix("**/")):
                    return True
        return False

    return is_ignored


def has_git():
    """Whether there is a git to ask (a bare machine may have none)."""
    try:
        return (
            subprocess.run(["git", "--version"], capture_output=True, check=False).returncode == 0
        )
    except FileNotFoundError:
        return False


def source_files(root):
    """The project's own code: what the budgets for files and functions are about."""
    return [
        name
        for name in tracked_files(root)
        if name.startswith(tuple(top + "/" for top in ROOTS)) and name.endswith(SUFFIXES)
    ]


def read(root, name):
    return (Path(root) / name).read_text(encoding="utf-8", errors="replace")


def quoted_includes(text):
    """(line number, path) of every #include "path"."""
    return [
        (number, match.group(1))
        for number, line in enumerate(text.splitlines(), 1)
        if (match := re.match(r'\s*#\s*include\s+"([^"]+)"', line))
    ]


def all_includes(text):
    """The path of every #include, quoted or in angle brackets."""
    return re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text, re.MULTILINE)


BLANKED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*",
    re.DOTALL | re.MULTILINE,
)
PARAMETERS_END = re.compile(
    r"\)\s*(?:(?:const|noexcept|override|final|mutable|try|&&?)\s*)*(?:->[^;{}=]+)?$"
    r"|\)\s*:[^;]*\}\s*$"
)  # the second: a constructor whose last member is initialised by braces
LAMBDA_END = re.compile(r"\]\s*(?:\([^()]*\))?\s*(?:mutable|noexcept|->[^;{}=]+|\s)*$")
SCOPE = re.compile(r"\b(?:namespace|class|struct|union|enum|extern)\b[^=]*$")
LEADING = re.compile(r"\s*(?:(?:public|private|protected)\s*:(?!:)\s*)*")


def cpp_functions(text):
    """(first line, lines) of every function in C++ `text`; lambdas count to the one around them.

    A heuristic over braces: what stands between the last boundary (`;`, a scope's brace, the end
    of a function) and a `{` says whether a function, a scope or an initialiser opens.
    """
    code = BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    found, open_braces, parens, boundary, function = [], [], 0, 0, None
    for token in re.finditer(r"[{}();]", code):
        char, position = token.group(0), token.start()
        if char in "()":
            parens += 1 if char == "(" else -1
        elif char == "{":
            head = code[boundary:position]
            kind = "inner" if function else brace_kind(head, in_call=parens > 0)
            open_braces.append((kind, parens))
            if kind == "function":
                function = boundary + LEADING.match(head).end()
            if kind in ("function", "scope"):
                boundary, parens = position + 1, 0
        elif char == "}" and open_braces:
            kind, parens = open_braces.pop()
            if kind == "function":
                first = code.count("\n", 0, function) + 1
                found.append((first, code.count("\n", 0, position) + 2 - first))
                function = None
            if kind in ("function", "scope"):
                boundary = position + 1
        elif char == ";" and parens == 0 and not function:
            boundary = position + 1
    return found


def brace_kind(head, in_call):
    """What a `{` after `head` opens, outside of functions:
    a function, a scope or an initialiser."""
    if in_call:
        return "function" if LAMBDA_END.search(head) else "initialiser"
    if PARAMETERS_END.search(head) or LAMBDA_END.search(head):
        return "function"
    return "scope" if SCOPE.search(head) else "initialiser"


def python_functions(text):
    """(first line, lines) of every function in Python `text`."""
    return [
        (node.lineno, node.end_lineno - node.lineno + 1)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def begins_with_comment(name, text):
    """Whether a file says at its top what it is, if it is a header or of Python."""
    if name.endswith((".py", ".pyi")):
        return ast.get_docstring(ast.parse(text)) is not None
    return not name.endswith(".h") or text.lstrip().startswith(("//", "/*"))


def functions(name, text):
    """(first line, lines) of every function of a source file."""
    if name.endswith((".cc", ".h")):
        return cpp_functions(text)
    return python_functions(text) if name.endswith(".py") else []
