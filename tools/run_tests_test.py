#!/usr/bin/env python3
"""Tests of run_tests.py: which tests count as skipped, and what is said of them."""
import os
import tempfile
import unittest

import run_tests

JUNIT = """<testsuite>
<testcase name="a" status="run"><system-out>needs shared data: not a skip</system-out></testcase>
<testcase name="b" status="notrun"><skipped message="X"/><system-out>[ RUN      ] b
/x/y_test.cpp:4: Skipped
needs shared data: data/a.csv (set SEPTULE_SHARED)
[  SKIPPED ] b (0 ms)</system-out></testcase>
<testcase name="c" status="notrun"><skipped message="X"/><system-out>/x/y_test.cpp:9: Skipped
no GPU here
</system-out></testcase>
<testcase name="d" status="fail"><failure message=""/><system-out>x</system-out></testcase>
</testsuite>"""


class RunTestsTest(unittest.TestCase):
    def test_skipped_tests_are_found_with_their_reasons(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "ctest.xml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(JUNIT)
            self.assertEqual(run_tests.skipped_tests(path), [
                ("b", "needs shared data: data/a.csv (set SEPTULE_SHARED)"), ("c", "no GPU here")])

    def test_report_names_each(self):
        self.assertEqual(run_tests.report([]), "no test was skipped")
        self.assertEqual(
            run_tests.report([("c", "no GPU here"), ("b", "needs shared data: x")]),
            "1 test skipped for want of shared data:\n  b (needs shared data: x)\n"
            "1 test skipped for another reason:\n  c (no GPU here)")

    def test_build_without_tests_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertNotEqual(run_tests.main([directory, "1"]), 0)


if __name__ == "__main__":
    unittest.main()
