"""The functions are those of the tests of autograph."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "autograph"))
