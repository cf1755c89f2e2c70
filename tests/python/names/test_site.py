"""The pages of the documentation site: they hold every public name, and the navigation leads to
all."""

import re
import runpy
from pathlib import Path

import gyre

ROOT = Path(__file__).parents[3]


def test_pages_are_made_of_everything_public():
    pages = runpy.run_path(str(ROOT / "docs/site/pages.py"))
    texts = {
        str(path): text
        for kind in (
            "kept_pages",
            "example_pages",
            "command_page",
            "operation_pages",
            "python_pages",
            "cpp_pages",
            "error_page",
        )
        for path, text in pages[kind]()
    }
    top = texts["reference/python/gyre.md"]
    assert all(
        f"## gyre.{name}\n" in top
        for name in gyre.__all__
        if name not in {"autograph", "nn"} and not hasattr(getattr(gyre, name), "__all__")
    )
    assert "parallel_iterations" in texts["reference/operations/control.md"]
    assert "while_loop" in texts["reference/cpp/control_flow.md"]
    for path, text in texts.items():
        for target in re.findall(r"\]\((?!\w+:|#)([^)#\s]+\.md)", pages["CODE"].sub("", text)):
            assert (
                str((ROOT / path).parent.joinpath(target).resolve().relative_to(ROOT)) in texts
            ), (path, target)


def test_links_that_lead_out_of_the_site_become_words():
    relinked = runpy.run_path(str(ROOT / "docs/site/pages.py"))["relinked"]
    text = "[a](../semantics.md#x) [b](../../tests/README.md) `[c](../gone.md)` [d](https://x.org)"
    assert (
        relinked(text, ROOT / "docs/guide/python.md")
        == "[a](../semantics.md#x) b (`tests/README.md`) `[c](../gone.md)` [d](https://x.org)"
    )
