"""How long it takes to import PyTerrier, and how much the package adds to it.

    python experiments/import_time.py [--runs 15]

Each import is timed in a Python process of its own, the cases in turn, so that whatever else the machine does meets all
of them. Printed are the median and the least in milliseconds, and the median as a multiple of PyTerrier's own.
PyTerrier imports the modules of its plugins with itself; where this package is installed, it is left out of the first
case and counted in the second.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from statistics import median

#: What is imported, by what it is called. Left out means: not among PyTerrier's plugins.
CASES = {
    "pyterrier, the package left out": "import pyterrier",
    "pyterrier, the package beside it": "import pyterrier, pyterrier_alg",
    "… and its first program read": "from pyterrier_alg import Program",
}

_TIMED = """
import importlib.metadata, sys, time
def without(found):
    return type(found)(entry for entry in found if not entry.value.startswith("pyterrier_alg"))
if {left_out}:
    entry_points = importlib.metadata.entry_points
    importlib.metadata.entry_points = lambda **wanted: without(entry_points(**wanted))
start = time.perf_counter()
{statement}
print(time.perf_counter() - start)
"""


def seconds(statement: str, *, left_out: bool) -> float:
    """How long one import takes in a new process."""
    code = _TIMED.format(statement=statement, left_out=left_out)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="processes for each case")
    runs = parser.parse_args().runs
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for turn in range(runs + 1):
        for place, (name, statement) in enumerate(CASES.items()):
            taken = seconds(statement, left_out=place == 0)
            # The first round fills the machine's file cache.
            if turn:
                times[name].append(taken)
    own = median(next(iter(times.values())))
    for name, measured in times.items():
        middle, least = 1000 * median(measured), 1000 * min(measured)
        print(f"{name:<36} {middle:7.1f} ms  {least:7.1f} ms  {middle / (1000 * own):5.2f}")


if __name__ == "__main__":
    main()
