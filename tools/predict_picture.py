#!/usr/bin/env python3
"""predict_picture.py SEPTULE MEASUREMENTS.csv > docs/images/predict.svg: for docs/predict.md.

Draws one co-run: its step times, the speeds that SEPTULE predicts from them with intervals, and
the layout that follows. MEASUREMENTS.csv: one run, docs/formats.md, "MPS measurements". Equal input
gives equal bytes.
"""
import csv
import html
import json
import subprocess
import sys

SLICES = ["7g", "4g", "3g", "2g", "1g"]
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#666666"]
TOP, HEIGHT, PANEL = 64, 200, 250
LEFTS = (60, 380, 700)


def text(x, y, what, anchor="middle", size=12, colour="#222222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{colour}" font-weight="{weight}">{html.escape(what)}</text>')


def line(x1, y1, x2, y2, colour="#cccccc", width=1.0):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def read_times(path):
    """({job: {percentage: seconds}} in the order of the rows)."""
    times = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            times.setdefault(row["job"], {})[int(row["atp"])] = float(row["step_s"])
    return times


def frame(left, top_value, ticks):
    """Horizontal rules with their numbers; values from 0 at the bottom to `top_value`."""
    parts = []
    for tick in ticks:
        y = TOP + HEIGHT * (1 - tick / top_value)
        parts.append(line(left, y, left + PANEL, y))
        parts.append(text(left - 8, y + 4, f"{tick:g}", "end", 11, "#555555"))
    return parts


def measured_panel(times):
    """One line a job: step time over the percentage, relative to the job's largest."""
    left, levels = LEFTS[0], sorted({p for job in times.values() for p in job}, reverse=True)
    parts = frame(left, 1.0, [0, 0.25, 0.5, 0.75, 1])
    places = {p: left + PANEL * (0.1 + 0.8 * i / max(1, len(levels) - 1))
              for i, p in enumerate(levels)}
    for level, x in places.items():
        parts.append(text(x, TOP + HEIGHT + 18, f"{level} %", size=11, colour="#555555"))
    for at, job in enumerate(times.values()):
        largest = max(job.values())
        points = [(places[p], TOP + HEIGHT * (1 - job[p] / largest)) for p in levels]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOURS[at]}" '
                     'stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{COLOURS[at]}"/>'
                  for x, y in points]
    parts.append(text(left + PANEL / 2, TOP + HEIGHT + 36, "active thread percentage", size=11,
                      colour="#555555"))
    return parts


def predicted_panel(jobs):
    """One mark a job and slice: the speed and its interval; a cross where it does not fit."""
    left = LEFTS[1]
    parts = frame(left, 1.05, [0, 0.25, 0.5, 0.75, 1])
    for i, name in enumerate(SLICES):
        middle = left + PANEL * (i + 0.5) / len(SLICES)
        parts.append(text(middle, TOP + HEIGHT + 18, name, size=11, colour="#555555"))
        for at, job in enumerate(jobs):
            x = middle + 7 * (at - (len(jobs) - 1) / 2)
            cell = job["slices"][name]
            if cell["speed"] is None:
                parts.append(text(x, TOP + HEIGHT - 3, "×", size=12, colour=COLOURS[at]))
                continue
            low, mid, high = (TOP + HEIGHT * (1 - min(1.05, cell[k]) / 1.05)
                              for k in ("low", "speed", "high"))
            parts.append(line(x, low, x, high, COLOURS[at], 2.0))
            parts.append(f'<circle cx="{x:.1f}" cy="{mid:.1f}" r="3.5" fill="{COLOURS[at]}"/>')
    parts.append(text(left + PANEL / 2, TOP + HEIGHT + 36, "slice; × = does not fit", size=11,
                      colour="#555555"))
    return parts


def layout_panel(jobs, plan):
    """The GPU's memory slices from bottom to top, each instance with its job."""
    left, unit = LEFTS[2], HEIGHT / 8
    parts = [f'<rect x="{left}" y="{TOP}" width="{PANEL}" height="{HEIGHT}" fill="#f3f3f3" '
             'stroke="#999999"/>']
    order = {job["name"]: at for at, job in enumerate(jobs)}
    sizes = {(one["profile"], one["start"]): one["size"] for one in plan.get("instances", [])}
    for job in plan.get("jobs", []):
        size = sizes[(job["profile"], job["start"])]
        y = TOP + HEIGHT - unit * (job["start"] + size)
        colour = COLOURS[order[job["name"]]]
        parts.append(f'<rect x="{left + 3}" y="{y + 2:.1f}" width="{PANEL - 6}" '
                     f'height="{unit * size - 4:.1f}" fill="{colour}" rx="3"/>')
        parts.append(text(left + PANEL / 2, y + unit * size / 2 + 4,
                          f'{job["profile"]}: {job["name"]} at {job["speed"]:.2f}',
                          colour="#ffffff", weight="bold"))
    parts.append(text(left + PANEL / 2, TOP + HEIGHT + 18, "memory slices of one GPU", size=11,
                      colour="#555555"))
    return parts


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, path = sys.argv[1:]
    answer = subprocess.run([program, "predict", path, "-o", "json"], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run = json.loads(answer.stdout)["runs"][0]
    jobs, plan = run["jobs"], run["plan"]
    width, height = 990, TOP + HEIGHT + 76
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
             f'width="{width}" height="{height}" role="img" '
             'font-family="Helvetica, Arial, sans-serif">',
             "<title>From a co-run under MPS to speeds on slices and a layout</title>",
             f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    titles = ("measured: step time / its largest", "predicted: speed / whole GPU",
              f'best layout: {plan["objective"] or 0:.2f} GPUs of work')
    for left, title in zip(LEFTS, titles):
        parts.append(text(left + PANEL / 2, 40, title, size=14, weight="bold"))
    for left in LEFTS[1:]:
        parts.append(text(left - 40, TOP + HEIGHT / 2, "→", size=26, colour="#999999"))
    parts += measured_panel(read_times(path)) + predicted_panel(jobs) + layout_panel(jobs, plan)
    for at, job in enumerate(jobs):
        x = LEFTS[0] + 200 * at
        parts.append(f'<circle cx="{x}" cy="{height - 18}" r="5" fill="{COLOURS[at]}"/>')
        parts.append(text(x + 10, height - 14, job["name"], "start"))
    print("\n".join(parts + ["</svg>"]))


if __name__ == "__main__":
    main()
