"""`python -m gyre`: the command line tool, as `gyre`."""

import sys

from gyre import _gyre

if __name__ == "__main__":
    sys.exit(_gyre.cli(sys.argv[1:]))
