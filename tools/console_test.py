#!/usr/bin/env python3
"""Tests of console.py: what agrees, what is refused, what --update writes."""
import contextlib
import io
import os
import stat
import tempfile
import unittest

import console


class ConsoleTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.binary = self.path("bin", "septule")
        self.write(self.binary, '#!/bin/sh\necho "septule $*"\n')
        os.chmod(self.binary, stat.S_IRWXU)
        self.write(self.path("fixtures", "node.json"), "{}\n")

    def path(self, *names):
        return os.path.join(self.directory.name, *names)

    @staticmethod
    def write(path, text):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def run_text(self, text, name="t.console", update=False):
        """(exit code, printed text, the file's text afterwards)."""
        file = self.path(name)
        self.write(file, text)
        printed = io.StringIO()
        arguments = ["--binary", self.binary, "--fixtures", self.path("fixtures"), file]
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            status = console.main(arguments + (["--update"] if update else []))
        with open(file, encoding="utf-8") as after:
            return status, printed.getvalue(), after.read()

    def passes(self, text, name="t.console"):
        status, printed, _ = self.run_text(text, name)
        self.assertEqual(status, 0, printed)

    def fails(self, text, words, name="t.console"):
        status, printed, _ = self.run_text(text, name)
        self.assertNotEqual(status, 0)
        self.assertIn(words, printed)

    def test_output_equal_passes(self):
        self.passes("# A comment first.\n$ septule gpus\nseptule gpus\n\n# spacing\n$ echo a\na\n")

    def test_output_different_fails(self):
        self.fails("$ septule gpus\nseptule gpu\n", "-septule gpu\n")

    def test_output_missing_or_surplus_fails(self):
        self.fails("$ echo a\n", "+a")
        self.fails("$ true\na\n", "-a")

    def test_exit_code_is_compared(self):
        self.passes("$ exit 3\n? 3\n")
        self.fails("$ exit 3\n", "+? 3")
        self.fails("$ exit 3\n? 4\n", "-? 4")
        self.fails("$ true\n? 3\n", "-? 3")

    def test_stderr_is_compared_after_stdout(self):
        self.passes("$ echo wrong >&2; echo out; exit 1\nout\n! wrong\n? 1\n")
        self.fails("$ echo wrong >&2\n", "+! wrong")
        self.fails("$ echo wrong\n! wrong\n", "-! wrong")

    def test_commands_share_the_fixtures_copy(self):
        self.passes("$ cat node.json\n{}\n$ echo 1 > node.json\n$ cat node.json\n1\n")
        with open(self.path("fixtures", "node.json"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "{}\n")

    def test_environment_is_fixed(self):
        os.environ["COLUMNS"] = "40"
        os.environ["NO_COLOR"] = "1"
        self.addCleanup(os.environ.pop, "COLUMNS")
        self.addCleanup(os.environ.pop, "NO_COLOR")
        self.passes("$ echo \"$LC_ALL $TERM $TZ ${NO_COLOR-unset} ${COLUMNS-unset}\"\n"
                    "C dumb UTC unset unset\n$ test -t 1\n? 1\n$ cat\n")

    def test_multi_line_commands_run(self):
        self.passes("$ echo a \\\n  b\na b\n$ cat <<'EOF'\nx $y\nEOF\nx $y\n")
        self.fails("$ cat <<EOF\nx\n", "no closing EOF")
        self.fails("$ echo \\", "the transcript ends")

    def test_blank_lines_inside_and_at_the_end_count(self):
        self.passes("$ printf 'a\\n\\nb\\n'\na\n\nb\n\n\n$ true\n")
        self.passes("$ printf 'a\\n\\n'\na\n\\\n")
        self.fails("$ printf 'a\\n\\n'\na\n", "+\\")
        self.fails("$ printf 'a'\na\n", "+\\ no newline at end")
        self.passes("$ printf 'a'\na\n\\ no newline at end\n")

    def test_special_output_lines_are_escaped(self):
        for text in ("$ x", "! x", "? 1", "\\x", "# x"):
            status, _, after = self.run_text(f"$ echo '{text}'\n", update=True)
            self.assertEqual(status, 0)
            self.passes(after)
        self.fails("$ printf '\\n# x\\n'\n\n# y\n", "+\\# x")

    def test_update_rewrites_only_what_differs(self):
        before = "# Lead.\n$ echo a\nb\n\n# Gap.\n$ echo c >&2; exit 2\n"
        _, _, after = self.run_text(before, update=True)
        self.assertEqual(after, before.replace("\nb\n", "\na\n") + "! c\n? 2\n")
        self.passes(after)
        page = "Text\n```console\n$ echo a; echo b\n...\nb\n$ echo c\nd\n```\nmore\n"
        _, _, after = self.run_text(page, "t.md", update=True)
        self.assertEqual(after, page.replace("\nd\n", "\nc\n"))

    def test_output_before_command_is_refused(self):
        self.fails("what\n$ true\n", "t.console:1: output before the first command")

    def test_page_blocks_run_and_others_do_not(self):
        self.passes("# Page\n```json\n$ false\n```\n```console\n$ cat x node.json\n{}\n"
                    "! cat: x: No such file or directory\n? 1\n```\n", "t.md")
        self.fails("# Page\n```console\n$ echo a\nb\n```\n", "t.md:3: $ echo a", "t.md")
        self.passes("No commands at all.\n", "t.md")

    def test_page_has_fixtures_under_their_name_too(self):
        self.passes("```console\n$ cat fixtures/node.json\n{}\n```\n", "t.md")

    def test_wildcard_stands_for_lines_of_one_stream(self):
        for middle in ("...", "1\n...\n3", "...\n3", "1\n2\n3\n..."):
            self.passes(f"```console\n$ seq 3\n{middle}\n```\n", "t.md")
        self.fails("```console\n$ seq 3\n...\n2\n```\n", "t.md:2", "t.md")
        self.fails("```console\n$ echo x >&2\n...\n```\n", "t.md:2", "t.md")
        self.fails("```console\n$ exit 1\n...\n```\n", "t.md:2", "t.md")
        self.passes("```console\n$ echo x >&2; exit 1\n! ...\n? 1\n```\n", "t.md")
        self.fails("$ seq 3\n...\n", "-...")  # Not in a golden file.

    def test_page_cannot_hide_commands(self):
        self.fails("```bash\n$ true\n```\n", "is not run", "t.md")
        self.fails("```console no-run\n$ septule gpus\n```\n", "must be run", "t.md")
        self.fails("```console no-run\n$ make; septule gpus\n```\n", "must be run", "t.md")
        self.fails("```console norun\n$ true\n```\n", "only no-run", "t.md")
        self.fails("```console\ntrue\n```\n", "without a command", "t.md")
        self.fails("- x\n  ```console\n  $ true\n  ```\n", "must not be indented", "t.md")
        self.fails("```console\n$ true\n", "never closed", "t.md")
        self.passes("```console no-run\n$ sudo make install PREFIX=/x\n$ make test\n```\n", "t.md")


if __name__ == "__main__":
    unittest.main()
