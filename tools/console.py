#!/usr/bin/env python3
"""console.py --binary SEPTULE --fixtures DIR [--update] FILE...: runs console transcripts.

A transcript is a *.console file, or the blocks fenced with ```console of a Markdown page. Its form:

    $ septule gpus show A100-40GB      a command for bash; \\ at its end or a heredoc continues it
    first line of standard output
    ! first line of standard error     after standard output
    ? 4                                the exit code, where it is not 0

- All commands of a file run in one temporary copy of DIR, each in a bash of its own, with the
  directory of SEPTULE first in PATH, LC_ALL=C, TERM=dumb, TZ=UTC, no terminal and no standard
  input. For a page, DIR is also there under its own name, so `examples/node.json` works as well.
- Blank lines before the next command are only spacing, and so are lines starting with # after one.
- An output line that would be read otherwise is written with a backslash before it; a blank line at
  the end of the output is a lone backslash; "\\ no newline at end" says just that.
- In a page, an output line "..." stands for any number of lines.
- A page's block is fenced ```console no-run only if each of its commands is in MAY_NOT_RUN below.
  Shell blocks of any other kind are refused: every command in the documentation is run.

--update rewrites what was expected by what happened.
"""
import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Commands a page may show without running them, and why.
MAY_NOT_RUN = [
    (r"git clone \S+( \S+)?", "needs the network"),
    (r"cd septule", "follows git clone"),
    (r"sudo apt(-get)? (update|install( \S+)+)", "changes the system"),
    (r"(sudo )?make( [a-z-]+)?( [A-Z_]+=\S+)*", "builds or installs; CI runs these"),
    (r"\.ci/run", "is what runs this"),
    (r"(sudo )?nvidia-smi( \S+)*", "needs a GPU"),
    (r"(sudo )?(ba)?sh \S*apply\S*\.sh", "changes a GPU"),
    (r"source \S+", "changes the reader's own shell"),
    (r"TZ=UTC sacct( [\w:,=./-]+)* > \S+", "needs Slurm"),
    (r"man septule(-\w+)?", "needs the installed pages"),
    (r"cmake( --preset test| --build --preset test --target septule septule-train)",
     "builds; CI does"),
    (r"(build/test/)?septule train (predictor|window)( \S+)*",
     "trains for minutes or hours, and needs LibTorch"),
]
SHELL_FENCES = {"sh", "bash", "shell", "zsh", "shell-session", "sh-session", "terminal"}
NO_NEWLINE = "\\ no newline at end"
TIMEOUT_S = 120
PASSED_ON = ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS")


class TranscriptError(Exception):
    """The transcript itself is not well formed. The text names file and line."""


class Step:
    """One command: `at` its line number, `source` its lines, what is expected, `gap` after it."""

    def __init__(self, at, source, command):
        self.at, self.source, self.command = at, source, command
        self.expected = []  # Lines as they stand in the file, without the gap.
        self.gap = []


def heredoc_ends(line):
    return [m.group(2) for m in re.finditer(r"<<-?\s*(['\"]?)(\w+)\1", line)]


def take_command(lines, at, where):
    """The command that starts at lines[at]: (lines it takes, its text)."""
    source, text = [lines[at]], [lines[at][2:]]
    while text[-1].endswith("\\"):
        if at + len(source) >= len(lines):
            raise TranscriptError(f"{where}: the command goes on, but the transcript ends")
        source.append(lines[at + len(source)])
        text.append(source[-1])
    for end in heredoc_ends("\n".join(text)):
        while True:
            if at + len(source) >= len(lines):
                raise TranscriptError(f"{where}: the here-document has no closing {end}")
            source.append(lines[at + len(source)])
            text.append(source[-1])
            if source[-1].strip() == end:
                break
    return source, "\n".join(text)


def split_gap(lines):
    """(expected, gap): the gap is the spacing at the end: blank lines, and comments after one."""
    start = len(lines)
    for at in range(len(lines) - 1, -1, -1):
        if lines[at] == "":
            start = at
        elif not lines[at].startswith("#"):
            break
    return lines[:start], lines[start:]


def parse(lines, name, first_line):
    """(lead, steps): the lines before the first command, and the commands of one transcript."""
    at, lead, steps, body = 0, [], [], None
    while at < len(lines):
        if lines[at].startswith("$ "):
            source, command = take_command(lines, at, f"{name}:{first_line + at}")
            steps.append(Step(first_line + at, source, command))
            body = steps[-1].expected
            at += len(source)
            continue
        if body is None:
            if lines[at] != "" and not lines[at].startswith("#"):
                raise TranscriptError(f"{name}:{first_line + at}: output before the first command;"
                                      " a command starts with \"$ \"")
            lead.append(lines[at])
        else:
            body.append(lines[at])
        at += 1
    for step in steps:
        step.expected, step.gap = split_gap(step.expected)
    return lead, steps


def escaped(line):
    return "\\" + line if re.match(r"[$!?] |\\", line) else line


def stream_lines(text):
    """A stream's text as transcript lines (escaped, without the "! " of standard error)."""
    if text == "":
        return []
    lines = text.split("\n")
    ends = lines.pop() if lines[-1] == "" else None
    lines = [escaped(line) for line in lines]
    for at in range(len(lines) - 1, -1, -1):  # What would be taken for a gap gets a backslash.
        if lines[at] == "" or lines[at].startswith("#"):
            lines[at] = "\\" + lines[at]
        else:
            break
    return lines if ends is not None else lines + [NO_NEWLINE]


def run(step, directory, env):
    """What happened, as the lines a transcript would have."""
    try:
        done = subprocess.run(["bash", "-c", step.command], cwd=directory, env=env, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return [f"! (console.py: stopped after {TIMEOUT_S} s)"]
    lines = stream_lines(done.stdout.decode("utf-8", "backslashreplace"))
    lines += ["! " + line for line in stream_lines(done.stderr.decode("utf-8", "backslashreplace"))]
    if done.returncode != 0:
        lines.append(f"? {done.returncode}")
    return lines


def normalised(expected):
    """Expected lines with needless backslashes kept out of the comparison."""
    lines = list(expected)
    for at, line in enumerate(lines):
        body = line[2:] if line.startswith("! ") else line
        if body.startswith("\\#"):
            lines[at] = line.replace("\\#", "#", 1)
        elif body == "\\":
            lines[at] = line[:-1]
    return lines


def matches(expected, actual, has_wildcards):
    """Whether the lines agree; "..." (or "! ...") stands for any lines of its stream."""
    expected, actual = normalised(expected), normalised(actual)
    if not has_wildcards:
        return expected == actual
    reached = {0}
    for line in expected:
        following = set()
        for at in reached:
            if line in ("...", "! ..."):
                end = at
                following.add(end)
                while end < len(actual) and (actual[end].startswith("! ") == (line == "! ...")) \
                        and not re.fullmatch(r"\? \d+", actual[end]):
                    end += 1
                    following.add(end)
            elif at < len(actual) and actual[at] == line:
                following.add(at + 1)
        reached = following
    return len(actual) in reached


def page_blocks(lines, name):
    """[(first, last)] of the inner lines of a page's ```console blocks that are to be run."""
    blocks, at = [], 0
    while at < len(lines):
        fence = re.match(r"^(\s*)(`{3,}|~{3,})\s*([\w-]*)\s*(.*)$", lines[at])
        if not fence:
            at += 1
            continue
        end = at + 1
        while end < len(lines) and not re.match(r"^\s*" + fence.group(2) + r"\s*$", lines[end]):
            end += 1
        if end == len(lines):
            raise TranscriptError(f"{name}:{at + 1}: the fence is never closed")
        check_fence(fence, lines[at + 1:end], f"{name}:{at + 1}")
        if fence.group(3) == "console" and fence.group(4).strip() == "":
            blocks.append((at + 1, end))
        at = end + 1
    return blocks


def check_fence(fence, inner, where):
    """Refuses blocks that would hide commands from being run."""
    language, rest = fence.group(3), fence.group(4).strip()
    if language in SHELL_FENCES:
        raise TranscriptError(f"{where}: a block of \"{language}\" is not run; use ```console, or "
                              "```text for the contents of a file")
    if language != "console":
        return
    if fence.group(1) != "":
        raise TranscriptError(f"{where}: a console block must not be indented")
    commands = [line[2:] for line in inner if line.startswith("$ ")]
    if not commands:
        raise TranscriptError(f"{where}: a console block without a command (\"$ ...\")")
    if rest == "":
        return
    if rest != "no-run":
        raise TranscriptError(f"{where}: \"{rest}\" after ```console; only no-run may stand there")
    for command in commands:
        if not any(re.fullmatch(pattern, command) for pattern, _ in MAY_NOT_RUN):
            raise TranscriptError(f"{where}: \"{command}\" must be run: it is not in MAY_NOT_RUN "
                                  "of tools/console.py")


class Runner:
    """Runs the transcripts of one file in one temporary directory."""

    def __init__(self, binary, fixtures, update):
        self.binary, self.fixtures, self.update = binary, fixtures, update
        self.commands, self.failures = 0, 0

    def environment(self, home):
        path = os.path.dirname(os.path.abspath(self.binary)) + ":/usr/local/bin:/usr/bin:/bin"
        env = {"PATH": path, "HOME": home, "LC_ALL": "C", "TERM": "dumb", "TZ": "UTC"}
        env.update({name: os.environ[name] for name in PASSED_ON if name in os.environ})
        return env

    def run_lines(self, lines, name, first_line, is_page, place):
        """Runs one transcript; the lines it should have had."""
        directory, env = place
        lead, steps = parse(lines, name, first_line)
        out = list(lead)
        for step in steps:
            self.commands += 1
            actual = run(step, directory, env)
            if matches(step.expected, actual, is_page):
                actual = step.expected
            else:
                self.failures += 1
                if not self.update:
                    self.show(step, actual, name)
            out += step.source + actual + step.gap
        return out

    @staticmethod
    def show(step, actual, name):
        print(f"{name}:{step.at}: $ {step.command}")
        for line in difflib.unified_diff(step.expected, actual, "expected", "happened",
                                         lineterm=""):
            print("  " + line)

    def run_file(self, name):
        with open(name, encoding="utf-8") as file:
            text = file.read()
        lines = text.split("\n")
        ends_with_newline = lines[-1] == ""
        if ends_with_newline:
            lines.pop()
        is_page = name.endswith(".md")
        blocks = page_blocks(lines, name) if is_page else [(0, len(lines))]
        with tempfile.TemporaryDirectory(prefix="septule-console-") as home:
            directory = os.path.join(home, "work")
            if os.path.isdir(self.fixtures):
                shutil.copytree(self.fixtures, directory)
                if is_page:
                    own_name = os.path.basename(os.path.abspath(self.fixtures))
                    shutil.copytree(self.fixtures, os.path.join(directory, own_name))
            else:
                os.mkdir(directory)
            place = (directory, self.environment(home))
            replaced, at = [], 0
            for first, last in blocks:
                replaced += lines[at:first]
                replaced += self.run_lines(lines[first:last], name, first + 1, is_page, place)
                at = last
            replaced += lines[at:]
        new_text = "\n".join(replaced) + ("\n" if ends_with_newline else "")
        if self.update and new_text != text:
            with open(name, "w", encoding="utf-8") as file:
                file.write(new_text)
            print(f"{name}: rewritten")


def main(arguments):
    parser = argparse.ArgumentParser(description="Runs console transcripts.")
    parser.add_argument("--binary", required=True, help="the septule program")
    parser.add_argument("--fixtures", required=True, help="directory that is copied for each file")
    parser.add_argument("--update", action="store_true", help="rewrite what is expected")
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args(arguments)
    if not os.access(options.binary, os.X_OK):
        print(f"console.py: {options.binary} is not a program", file=sys.stderr)
        return 2
    runner = Runner(options.binary, options.fixtures, options.update)
    try:
        for name in options.files:
            runner.run_file(name)
    except (TranscriptError, OSError) as error:
        print(error)
        return 1
    verb = "rewritten" if options.update else "failed"
    print(f"{runner.commands} commands ran, {runner.failures} {verb}")
    return 1 if runner.failures and not options.update else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
