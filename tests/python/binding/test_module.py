"""What the module shows to the rest of the process."""

import subprocess

from gyre import _gyre


def test_exports_its_entry_and_names_of_gyre():
    listed = subprocess.run(
        ["nm", "-D", "--defined-only", _gyre.__file__], capture_output=True, text=True, check=True
    ).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert "PyInit__gyre" in names
    others = {name for name in names - {"PyInit__gyre"} if "4gyre" not in name}
    assert others == set(), "another library in the process may have its own of these"
