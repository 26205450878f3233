#!/usr/bin/env python3
"""Compares two builds of `hansard`: both run the same bench suites in turn, each with its own stack, on one machine.

    cargo build --release -p bench
    python3 tests/compare/builds.py OLD NEW [--turns 5] [--suite append,contexts] [--slower-max 0.03]

OLD and NEW are binaries; `--bench` is the program that measures them. Prints, per figure, the median of the ratios
NEW/OLD of neighbouring turns, and the ratios. Exits with 1 when a figure of NEW is slower than the bound. The order
within a pair alternates, so that a drift of the machine favours neither build.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys


def measure(bench, binary, suites, seconds):
    """The figures of one turn, by name: operations a second (more is better), p50 and p99 in ms (less is better)."""
    command = [bench, "--own-stack", "--program", binary, "--json", "--rounds", "1"]
    command += ["--duration", str(seconds), "--suite", suites]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"the bench of {binary} ended with {run.returncode}:\n{run.stderr[-2000:]}")
    figures = {}
    for comparison in json.loads(run.stdout)["comparisons"]:
        system = comparison["rounds"][0]["system"]
        # A suite has a comparison for each number of callers, with one title.
        title = f"{comparison['title']}, {comparison['load']}"
        figures[f"{title}: per_second"] = system["per_second"]
        for name in ("p50_ms", "p99_ms"):
            figures[f"{title}: {name}"] = system["latency"][name]
    return figures


def slower(name, ratio):
    """How much slower NEW is, as a share; negative: faster."""
    return (1 / ratio if name.endswith("per_second") else ratio) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--bench", type=pathlib.Path, default="target/release/bench", help="default: %(default)s")
    parser.add_argument("--turns", type=int, default=5, help="pairs of turns (default: 5)")
    parser.add_argument("--seconds", type=int, default=5, help="length of a turn (default: 5)")
    parser.add_argument("--suite", default="append,contexts", help="suites of the bench (default: append,contexts)")
    parser.add_argument("--slower-max", type=float, default=0.03, help="largest slowdown of a median (default: 0.03)")
    args = parser.parse_args()
    ratios = {}
    for turn in range(args.turns):
        builds = [("old", args.old), ("new", args.new)]
        order = builds if turn % 2 == 0 else builds[::-1]
        figures = {name: measure(args.bench, path, args.suite, args.seconds) for name, path in order}
        for name, value in figures["new"].items():
            ratios.setdefault(name, []).append(value / figures["old"][name])
        print(f"turn {turn + 1} of {args.turns} done", file=sys.stderr, flush=True)
    failed = False
    for name, values in ratios.items():
        median = statistics.median(values)
        # On a shared machine, the tail depends more on the machine than on a build.
        judged = not name.endswith("p99_ms")
        missed = judged and slower(name, median) > args.slower_max
        failed |= missed
        mark = "SLOWER" if missed else "ok" if judged else "stated"
        print(f"{name}: {median:.3f} ({', '.join(f'{value:.3f}' for value in values)}) {mark}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
