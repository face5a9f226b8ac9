#!/usr/bin/env python3
"""run_tests.py BUILD_DIR JOBS [CTEST_ARGUMENT...]: runs ctest there, then names each skipped test.

Exits with ctest's status: a skipped test is no failure, but it is never passed over in silence.
"""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

SHARED_DATA = "needs shared data:"


def reason_of(output):
    """The line of a skipped test's output that says why it was skipped."""
    for line in output.splitlines():
        if SHARED_DATA in line:
            return line[line.index(SHARED_DATA):].strip()
    lines = [line.strip() for line in output.splitlines()]
    for at, line in enumerate(lines):
        if re.search(r": Skipped$", line) and at + 1 < len(lines) and lines[at + 1]:
            return lines[at + 1]
    return "no reason given"


def skipped_tests(junit_path):
    """(name, reason) of each test of a ctest JUnit file that did not run, in the file's order."""
    found = []
    for case in ElementTree.parse(junit_path).getroot().iter("testcase"):
        if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            found.append((case.get("name"), reason_of(case.findtext("system-out") or "")))
    return found


def report(skipped):
    """Text that names the skipped tests, those for want of shared data first."""
    if not skipped:
        return "no test was skipped"
    lines = []
    for_data = [entry for entry in skipped if entry[1].startswith(SHARED_DATA)]
    others = [entry for entry in skipped if entry not in for_data]
    for title, entries in (("skipped for want of shared data", for_data),
                           ("skipped for another reason", others)):
        if entries:
            lines.append(f"{len(entries)} tests {title}:" if len(entries) > 1
                         else f"1 test {title}:")
            lines += [f"  {name} ({reason})" for name, reason in entries]
    return "\n".join(lines)


def main(arguments):
    if len(arguments) < 2:
        print("usage: run_tests.py BUILD_DIR JOBS [CTEST_ARGUMENT...]", file=sys.stderr)
        return 2
    build, jobs, extra = arguments[0], arguments[1], arguments[2:]
    junit = os.path.abspath(os.path.join(build, "ctest.xml"))
    if os.path.exists(junit):
        os.remove(junit)
    command = ["ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error",
               "--progress", "-j", jobs, "--output-junit", junit, *extra]
    status = subprocess.run(command, check=False).returncode
    if os.path.exists(junit):
        print(report(skipped_tests(junit)))
    elif status == 0:
        print("run_tests.py: ctest wrote no report", file=sys.stderr)
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
