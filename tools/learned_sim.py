#!/usr/bin/env python3
"""learned_sim.py --binary SEPTULE --weights DIR --data DIR [--size 8|40|both] [--seeds N]

What learned predictors cost scheduling, against perfect prediction (docs/benchmarks.md, "Learned
predictors in the simulator").

DIR of --weights holds files of weights by what they were trained without, named as `septule train
predictor --runs DIR` names them (with --evaluate, or --folds mix and --folds family):
MODEL-foldK-seedN was trained without fold K of the data, MODEL-FAMILY-seedN without all mixes that
hold a job of that family. --match ours- takes those of one network. Each is simulated with the
columns measured in what it has not seen: `septule simulate --predictor FILE --mps-data DATA
--mps-fold K|FAMILY`, policies miso and septule, 8 GPUs with miso-100 and 40 GPUs with miso-1000.
Runs are paired by seed with those of an exact table
(--error-mean 0 --error-sd 0), and, for families, with optsta.

Prints, for each file and policy, the mean over seeds of JCT(learned) / JCT(exact) - 1, and the mean
over all folds with its verdict: at most 2 % loss. Of families: mean JCT below optsta's, where the
exact table of the same policy is; where it is not, no prediction can be, and the makespan is shown.
Exit code 1 if a bound is missed, 2 if something cannot be run.
"""
import argparse
import csv
import os
import re
import statistics
import subprocess
import sys
import tempfile

POLICIES = ["miso", "septule"]
LOSS_MAX = 0.02
SIZES = {
    "8": ["--gpus", "8xA100-40GB", "--trace", "miso-100"],
    "40": ["--gpus", "40xA100-40GB", "--trace", "miso-1000"],
}
SEEDS = {"8": 20, "40": 5}
JCT = "mean_jct_s"
MAKESPAN = "makespan_s"
# Seeds on which nothing was tuned, as for the policies' figures.
FIRST_SEED = 101


def part_of(name):
    """("fold", "3") or ("family", "gnn") from the name of a file; None for others."""
    fold = re.search(r"fold[-_]?([0-4])(?![0-9])", name)
    if fold:
        return "fold", fold.group(1)
    family = re.match(r"(?:ours|unet)-(?:family-)?([a-z][a-z0-9]*)(?:-seed\d+)?\.", name)
    return ("family", family.group(1)) if family and family.group(1) != "all" else None


def find_weights(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        part = part_of(name)
        if part and os.path.isfile(os.path.join(folder, name)):
            found.setdefault(part, []).append(os.path.join(folder, name))
    return found


def simulate(options, arguments, policies):
    """{policy: {figure: {seed: value}}}"""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "study")
        command = [options.binary, "simulate", "--policies", ",".join(policies), "--out", out]
        done = subprocess.run(command + arguments, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.stderr.write(done.stderr)
            sys.exit(2)
        with open(os.path.join(out, "runs.csv"), encoding="utf-8") as file:
            figures = {policy: {JCT: {}, MAKESPAN: {}} for policy in policies}
            for row in csv.DictReader(file):
                for figure in (JCT, MAKESPAN):
                    figures[row["policy"]][figure][row["seed"]] = float(row[figure])
    return figures


def ratio(run, base, figure):
    """Mean over seeds of run / base - 1."""
    return statistics.mean(run[figure][seed] / base[figure][seed] for seed in base[figure]) - 1


def percent(value):
    return f"{100 * value:+.2f} %"


def study_of(options, size):
    seeds = options.seeds or SEEDS[size]
    return SIZES[size] + ["--seeds", f"{FIRST_SEED}-{FIRST_SEED + seeds - 1}"]


def judge_size(options, weights, size):
    """Prints the lines of one size; whether every bound holds."""
    study = study_of(options, size)
    exact = simulate(options, study + ["--error-mean", "0", "--error-sd", "0"],
                     POLICIES + ["optsta"])
    noisy = simulate(options, study, POLICIES)
    for policy in POLICIES:
        mean_s = statistics.mean(exact[policy][JCT].values())
        print(f"{size} GPUs  {policy:8} exact table {mean_s:8.1f} s,"
              f" table with MISO's error {percent(ratio(noisy[policy], exact[policy], JCT))},"
              f" against optsta {percent(ratio(exact[policy], exact['optsta'], JCT))}")
    losses = {policy: [] for policy in POLICIES}
    is_good = True
    for (kind, part), files in sorted(weights.items()):
        for path in files:
            learned = simulate(options, study + ["--predictor", path, "--mps-data", options.data,
                                                 "--mps-fold", part], POLICIES)
            for policy in POLICIES:
                loss = ratio(learned[policy], exact[policy], JCT)
                line = (f"{size} GPUs  {policy:8} without {kind} {part:12} "
                        f"JCT {percent(loss)} against the exact table")
                if kind == "fold":
                    losses[policy].append(loss)
                else:
                    lead = ratio(learned[policy], exact["optsta"], JCT)
                    makespan = ratio(learned[policy], exact["optsta"], MAKESPAN)
                    is_possible = ratio(exact[policy], exact["optsta"], JCT) < 0
                    is_good = is_good and (lead < 0 or not is_possible)
                    verdict = ("better" if lead < 0 else
                               "NOT BETTER" if is_possible else "nor is the exact table better")
                    line += (f"; against optsta JCT {percent(lead)} ({verdict}), "
                             f"makespan {percent(makespan)}")
                print(line, flush=True)
    for policy in POLICIES:
        if losses[policy]:
            mean = statistics.mean(losses[policy])
            holds = mean <= LOSS_MAX
            is_good = is_good and holds
            print(f"{size} GPUs  {policy:8} mean of {len(losses[policy])} folds: "
                  f"JCT {percent(mean)}: {'holds' if holds else 'MISSED'} "
                  f"(bound {percent(LOSS_MAX)})")
    return is_good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--binary", required=True, help="the septule program")
    parser.add_argument("--weights", required=True, help="folder of files of weights")
    parser.add_argument("--data", required=True, help="folder of the MISO data")
    parser.add_argument("--size", choices=["8", "40", "both"], default="both")
    parser.add_argument("--seeds", type=int, default=0, help="without it: 20, at 40 GPUs 5")
    parser.add_argument("--match", default="", help="only files with this in their names")
    options = parser.parse_args()
    weights = {part: [path for path in files if options.match in os.path.basename(path)]
               for part, files in find_weights(options.weights).items()}
    weights = {part: files for part, files in weights.items() if files}
    if not weights:
        sys.stderr.write(f"learned_sim.py: {options.weights}: holds no file of weights named by "
                         "fold-K or family-NAME\n")
        return 2
    sizes = ["8", "40"] if options.size == "both" else [options.size]
    results = [judge_size(options, weights, size) for size in sizes]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
