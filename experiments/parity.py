"""The parity experiment over all topics of Vaswani, with what it found recorded beside it.

    python experiments/parity.py            # writes parity.* (the demonstration) and parity-all-topics.*
    python experiments/parity.py --check    # runs the demonstration and compares with what is recorded

The same as `pyterrier-alg parity --json … --markdown …`, for both lists of topics.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from pyterrier_alg.parity import DEMONSTRATION, Report, all_pairs, run_parity, to_dict, to_markdown, topic_pair

HERE = Path(__file__).parent


def record(name: str, report: Report, *, every_outcome: bool) -> None:
    """Write a report's two forms beside this script."""
    data = to_dict(report, every_outcome=every_outcome)
    (HERE / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (HERE / f"{name}.md").write_text(to_markdown(report), encoding="utf-8")


def certified_part(data: dict[str, Any]) -> dict[str, Any]:
    """What must be the same on every machine: programs, the defined rankings, and that every check holds.

    A database's own last bits, and the order in which it leaves ties, may depend on the processor.
    """
    cases = [
        {"program": c["program"], "q1": c["q1"], "gap_check": c["gap_check"], "algebra": c["outcomes"]["algebra"]}
        for c in data["cases"]
    ]
    return {"programs": data["programs"], "holds": data["holds"], "cases": cases}


def main() -> int:
    """Run, and record or compare; 0 where every check holds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="compare with what is recorded")
    arguments = parser.parse_args()
    demonstration = run_parity([topic_pair(DEMONSTRATION)])
    if arguments.check:
        recorded = json.loads((HERE / "parity.json").read_text("utf-8"))
        same = certified_part(recorded) == certified_part(to_dict(demonstration))
        print("as recorded" if same else "not as recorded")
        return 0 if same and demonstration.holds else 1
    everything = run_parity(all_pairs(), progress=print)
    record("parity", demonstration, every_outcome=True)
    record("parity-all-topics", everything, every_outcome=False)
    print(to_markdown(everything))
    return 0 if demonstration.holds and everything.holds else 1


if __name__ == "__main__":
    sys.exit(main())
