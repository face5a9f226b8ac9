#!/usr/bin/env python3
"""command_times.py SEPTULE: how long commands take from start to end (docs/benchmarks.md).

Processor time (of the program and of the system for it) and wall time, median and least of 41 runs;
and lines a second of predict --jsonl, median of five runs over 100,000 lines with a fixed seed.
"""
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = 41
LINES = 100000


def run_once(arguments, stdin):
    """(processor seconds, wall seconds) of one run; its output goes nowhere."""
    began = time.perf_counter()
    process = subprocess.Popen(arguments, stdin=stdin, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"command_times.py: {arguments} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, wall


def write_lines(path):
    chance = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(LINES):
            jobs = chance.randint(1, 7)
            rows = [",".join(f"{0.1 + 0.9 * chance.random():.4f}" if column < jobs else "null"
                             for column in range(7)) for _ in range(3)]
            times = ",".join(f"[{row}]" for row in rows)
            file.write(f'{{"mps_levels":[100,50,14],"step_time":[{times}]}}\n')


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program, more = sys.argv[1], sys.argv[2:]  # More: options of predict (--weights FILE).
    commands = [["--version"], ["gpus"], ["policies"], ["predict", "--jsonl", *more]]
    for command in commands:
        times = [run_once([program, *command], subprocess.DEVNULL) for _ in range(RUNS)]
        processor, wall = ([1000 * one[at] for one in times] for at in (0, 1))
        print(f"{' '.join(command[:2])}: processor {statistics.median(processor):.1f} ms (least "
              f"{min(processor):.1f}), wall {statistics.median(wall):.1f} ms (least "
              f"{min(wall):.1f})")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines.jsonl")
        write_lines(path)
        rates = []
        for _ in range(5):
            with open(path, "rb") as stdin:
                rates.append(LINES / run_once([program, "predict", "--jsonl", *more], stdin)[0])
        print(f"predict --jsonl: {statistics.median(rates):,.0f} lines a second of processor time "
              f"({min(rates):,.0f} to {max(rates):,.0f})")


if __name__ == "__main__":
    main()
