#!/usr/bin/env python3
"""run_clang_tidy.py BUILD_DIR JOBS [all|shipped|quick]: clang-tidy-19 over the sources of
BUILD_DIR's compile commands; "shipped" = those of src/ and apps/ only, "quick" = those without the
analyzer, which takes most of the time.

A file is passed over when it, every header of ours that it reaches, its command and .clang-tidy are
as they were when it last passed (BUILD_DIR/tidy/ keeps a stamp per such state).
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
CLANG_TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-19")


def read(path):
    with open(path, "rb") as file:
        return file.read()


def closure(path, roots, seen):
    """All files of ours that `path` includes, itself too."""
    if path in seen:
        return
    seen.add(path)
    for name in INCLUDE.findall(read(path).decode("utf-8", "replace")):
        for root in [os.path.dirname(path), *roots]:
            candidate = os.path.normpath(os.path.join(root, name))
            if os.path.isfile(candidate):
                closure(candidate, roots, seen)
                break


def state_of(source, command, root):
    """A digest of everything that decides what clang-tidy says about `source`."""
    seen = set()
    roots = [os.path.join(root, name) for name in ("src", "apps", "tests", "fuzz", "bench")]
    closure(source, roots, seen)
    digest = hashlib.sha256(read(os.path.join(root, ".clang-tidy")) + command.encode())
    for path in sorted(seen):
        digest.update(path.encode() + b"\0" + read(path))
    return digest.hexdigest()


def check(source, build, scope):
    checks = ["-checks=-clang-analyzer-*"] if scope == "quick" else []
    run = subprocess.run([CLANG_TIDY, "-p", build, "--quiet", *checks, source], check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # stderr counts warnings (of system headers, too) and, after a failure to compile, says why.
    reasons = [line for line in run.stderr.split("\n")
               if not re.fullmatch(r"\d+ warnings?( and \d+ errors?)? generated\.|", line)]
    return run.returncode, "\n".join([run.stdout.rstrip(), *reasons]).strip()


def main(arguments):
    scope = arguments[2] if len(arguments) == 3 else "all"
    if len(arguments) not in (2, 3) or scope not in ("all", "shipped", "quick"):
        print("usage: run_clang_tidy.py BUILD_DIR JOBS [all|shipped|quick]", file=sys.stderr)
        return 2
    build, jobs = os.path.abspath(arguments[0]), int(arguments[1])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    stamps = os.path.join(build, "tidy")
    os.makedirs(stamps, exist_ok=True)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    commands = {}
    for entry in entries:
        path = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        is_shipped = path.startswith((os.path.join(root, "src"), os.path.join(root, "apps")))
        if not path.startswith(build + os.sep) and (is_shipped or scope == "all"):
            words = shlex.split(entry["command"])
            commands[path] = " ".join(w for w in words if not w.endswith(".o"))
    states = {path: state_of(path, command, root) for path, command in sorted(commands.items())}
    todo = [p for p, s in states.items() if not os.path.exists(os.path.join(stamps, s))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=jobs) as pool:
        results = {pool.submit(check, path, build, scope): path for path in todo}
        for future in concurrent.futures.as_completed(results):
            path = results[future]
            status, output = future.result()
            if status == 0:
                if scope != "quick":
                    with open(os.path.join(stamps, states[path]), "w", encoding="utf-8"):
                        pass
            else:
                failed += 1
                print(f"clang-tidy: {os.path.relpath(path, root)}\n{output}", flush=True)
    print(f"clang-tidy: {len(todo)} files checked, {len(states) - len(todo)} unchanged since they "
          f"passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
