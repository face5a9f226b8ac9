#!/usr/bin/env python3
"""tidy.py [ROOT]: the rules of CONVENTIONS.md that a compiler does not check.

Prints one line a violation (file:line: rule: what) and exits with 1 if there is any. Which layer
may use which comes from cmake/layers.cmake, which library a layer may include from CMakeLists.txt.
"""
import os
import re
import sys

LINES_MAX = 500
COLUMNS_MAX = 100
CPP = (".cpp", ".hpp")
# Layers that may touch the outside world. `device` is here although its emulated half may not.
IMPURE_LAYERS = {"device", "live", "service"}
# Files of pure layers that may do one thing more, and why.
PURE_EXCEPTIONS = {
    ("src/base/check.cpp", "output"): "a failed check prints before it aborts",
}
# What no pure layer may contain: rule, pattern (on code without comments and texts), reason.
PURE_BANS = [
    ("clock", r"\b(system|steady|high_resolution|utc)_clock\b|\bclock_gettime\b|\bgettimeofday\b"
              r"|\bstd::time\s*\(|<chrono>|<ctime>",
     "time comes from Env only"),
    ("sleep", r"\bsleep_for\b|\bsleep_until\b|\bu?sleep\s*\(", "time comes from Env only"),
    ("random", r"\brandom_device\b|\bmt19937|\bstd::rand\b|\bsrand\b|\bstd::\w+_distribution\b"
               r"|<random>",
     "chance comes from base/rng only"),
    ("thread", r"\bstd::(j?thread|async|mutex|shared_mutex|recursive_mutex|atomic\w*)\b"
               r"|<(thread|mutex|atomic|future|condition_variable)>",
     "pure layers have one thread"),
    ("environment", r"\b(get|set|put|unset|secure_get)env\b", "only apps read the environment"),
    ("file", r"\bf(re)?open\b|\bstd::[io]?fstream\b|\bstd::filesystem\b|<(fstream|filesystem)>",
     "only apps read files"),
    ("output", r"\bstd::(cout|cerr|clog|cin)\b|<iostream>|\b(std::)?(f|v|vf)?(printf|puts)\s*\("
               r"|\bfmt::print\b|<cstdio>",
     "only apps read and write streams"),
    ("regex", r"\bstd::regex\b|<regex>", "std::regex recurses on input and is slow"),
    ("locale", r"\bstd::sto(i|l|ll|ul|ull|f|d|ld)\b|\bstrto\w+\b|\bato[ifl]\b|\bv?s?scanf\b"
               r"|<locale>|\bv?sn?printf\b"
               r"|\bsetlocale\b|\bstd::(is|to)(alpha|digit|upper|lower|space|alnum|print)\b",
     "depends on the locale; use base/text or std::from_chars"),
    ("exit", r"\bstd::(exit|quick_exit|terminate)\b|\b_Exit\b", "only apps end the program"),
]
# What no program code of ours may contain.
CODE_BANS = [
    ("throw", r"\bthrow\b", "we throw nothing; return a Result"),
    ("volatile", r"\bvolatile\b", "no volatile"),
    ("fast-math", r"-ffast-math|-march=native", "results would differ between machines"),
]
TEST_BANS = [
    ("sleep", r"\bsleep_for\b|\bsleep_until\b|\bu?sleep\s*\(", "tests do not sleep"),
    ("clock", r"\b(system|steady|high_resolution)_clock\b", "tests read no clock"),
    ("random", r"\brandom_device\b", "tests are the same on each run"),
]
LIBRARY_HEADERS = {  # Imported target: how its headers begin.
    "fmt::fmt": "fmt/", "nlohmann_json::nlohmann_json": "nlohmann/", "yaml-cpp": "yaml-cpp/",
    "libcsv::libcsv": "csv.h", "CLI11::CLI11": "CLI/", "spdlog::spdlog": "spdlog/",
}


def without_comments_and_texts(text):
    """The code with comments, string and character literals blanked out; line ends are kept."""
    token = re.compile(
        r'//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/'
        r'|R"([^()\\ \n]{0,16})\(.*?\)\1"'
        r'|"(?:[^"\\\n]|\\.)*"'
        r"|(?<![0-9A-Za-z_])(?:u8|u|U|L)?'(?:[^'\\\n]|\\.)+'", re.DOTALL)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def includes_of(text):
    """[(line number, name, is_quoted)] of the #include lines."""
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r'\s*#\s*include\s*(?:"([^"]*)"|<([^>]*)>)', line)
        if match:
            is_quoted = match.group(1) is not None
            found.append((number, match.group(1) or match.group(2) or "", is_quoted))
    return found


class Tidy:
    """Collects the violations below one root directory."""

    def __init__(self, root):
        self.root = root
        self.violations = []
        self.layers = self.read_layers()
        self.libraries = self.read_libraries()

    def read(self, name):
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def add(self, name, line, rule, what):
        self.violations.append((name, line, rule, what))

    def read_layers(self):
        """{layer: (level, {layers it may use})} from the rows of cmake/layers.cmake."""
        rows = re.findall(r'^\s*"(\w+)\|(\d+)\|([\w,-]+)"', self.read("cmake/layers.cmake"), re.M)
        layers = {name: (int(level), set(uses.split(",")) - {"-"}) for name, level, uses in rows}
        if not layers:
            self.add("cmake/layers.cmake", 1, "layers", "no row name|level|uses was found")
        for name, (level, uses) in layers.items():
            for use in sorted(uses):
                if use not in layers:
                    self.add("cmake/layers.cmake", 1, "layers",
                             f"{name} uses {use}, which has no row")
                elif layers[use][0] >= level:
                    self.add("cmake/layers.cmake", 1, "layers",
                             f"{name} (level {level}) may not use {use} (level {layers[use][0]})")
        return layers

    def read_libraries(self):
        """{layer: {beginnings of the library headers that it may include}}."""
        libraries = {}
        for name, libs in re.findall(r"^ *septule_layer\((\w+)(?:\s+LIBS\s+([^)]*))?\)",
                                     self.read("CMakeLists.txt"), re.M):
            libraries[name] = {LIBRARY_HEADERS[lib] for lib in libs.split()
                               if lib in LIBRARY_HEADERS}
        return libraries

    def files(self, top, endings):
        """Names (relative to the root, sorted) of the files below `top` with one of `endings`."""
        found = []
        for directory, subdirectories, names in os.walk(os.path.join(self.root, top)):
            subdirectories.sort()
            for name in sorted(names):
                if name.endswith(endings):
                    found.append(os.path.relpath(os.path.join(directory, name), self.root))
        return found

    def check(self):
        for top in ("src", "apps", "tests", "bench", "fuzz"):
            for name in self.files(top, CPP):
                self.check_cpp(name, top)
        for name in self.files("tools", (".py", ".sh")) + self.files("examples", (".sh",)):
            self.check_shape(name, self.read(name))
        self.check_tests_exist()
        self.check_decisions()
        return sorted(self.violations)

    def check_shape(self, name, text):
        lines = text.split("\n")
        if " " in name:
            self.add(name, 1, "name", "a file name with a blank")
        if len(lines) - 1 > LINES_MAX:
            self.add(name, len(lines) - 1, "length", f"{len(lines) - 1} lines; at most {LINES_MAX}")
        if text and not text.endswith("\n"):
            self.add(name, len(lines), "end", "the last line has no end")
        for number, line in enumerate(lines, 1):
            if len(line) > COLUMNS_MAX:
                self.add(name, number, "columns", f"{len(line)} columns; at most {COLUMNS_MAX}")
            if line != line.rstrip() or "\t" in line:
                self.add(name, number, "blanks", "a tab or blanks at the end")
            for match in re.finditer(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b(\(#\d+\))?", line):
                if match.group(1) != "TO" "DO" or not match.group(2):
                    self.add(name, number, "todo", f"{match.group(1)} without an issue; write "
                             "TO" "DO(#number)")

    def check_cpp(self, name, top):
        text = self.read(name)
        self.check_shape(name, text)
        code = without_comments_and_texts(text)
        if name.endswith(".hpp") and not re.search(r"^#pragma once\s*$", code, re.M):
            self.add(name, 1, "pragma", "a header without #pragma once")
        self.ban(name, code, [("using-namespace", r"\busing\s+namespace\b", "name what you use")])
        layer = name.split("/")[1] if top == "src" else None
        if top == "src" and (name.count("/") < 2 or layer not in self.layers):
            self.add(name, 1, "layer", f"\"{layer}\" is no layer of cmake/layers.cmake")
            return
        if top in ("src", "apps"):
            self.ban(name, code, CODE_BANS)
        if layer is not None and layer not in IMPURE_LAYERS:
            self.ban(name, code, PURE_BANS)
        if top == "tests":
            self.ban(name, code, TEST_BANS)
            self.check_aims(name, text)
        self.check_includes(name, text, top, layer)

    def ban(self, name, code, bans):
        for rule, pattern, reason in bans:
            if (name, rule) in PURE_EXCEPTIONS:
                continue
            for number, line in enumerate(code.split("\n"), 1):
                match = re.search(pattern, line)
                if match:
                    self.add(name, number, rule, f"\"{match.group(0).strip()}\": {reason}")

    def check_aims(self, name, text):
        """The first line inside each test says its aim."""
        lines = text.split("\n")
        at = 0
        while at < len(lines):
            if re.match(r"(TEST|TEST_F|TEST_P|TYPED_TEST|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)\(",
                        lines[at]):
                start = at
                while at < len(lines) - 1 and not lines[at].rstrip().endswith("{"):
                    at += 1
                if at + 1 >= len(lines) or not re.match(r"\s*//", lines[at + 1]):
                    self.add(name, start + 1, "aim",
                             "the first line of a test says its aim (// ...)")
            at += 1

    def check_includes(self, name, text, top, layer):
        for number, include, is_quoted in includes_of(text):
            first = include.split("/")[0]
            if is_quoted and "/" not in include and top in ("bench", "fuzz"):
                continue  # A header of the same directory.
            if is_quoted and (include.startswith(".") or "/" not in include):
                self.add(name, number, "include", f"\"{include}\" does not name its layer")
            elif is_quoted and not self.include_exists(include):
                self.add(name, number, "include", f"\"{include}\" does not exist")
            elif not is_quoted and first in self.layers and "/" in include:
                self.add(name, number, "include", f"<{include}> is ours; use quotes")
            elif layer is None:
                continue
            elif is_quoted and first != layer and first not in self.layers[layer][1]:
                uses = ", ".join(sorted(self.layers[layer][1])) or "nothing"
                self.add(name, number, "layer", f"{layer} may use {uses}, not \"{include}\"")
            elif not is_quoted:
                self.check_library(name, number, include, layer)

    def include_exists(self, include):
        return any(os.path.exists(os.path.join(self.root, top, include))
                   for top in ("src", "apps", "tests", "fuzz", "bench", ""))

    def check_library(self, name, number, include, layer):
        for beginning in LIBRARY_HEADERS.values():
            if include.startswith(beginning) and beginning not in self.libraries.get(layer, set()):
                self.add(name, number, "library",
                         f"<{include}>: CMakeLists.txt gives {layer} no such library")
        if re.fullmatch(r"(c?assert(\.h)?)", include):
            self.add(name, number, "library", "use SEPTULE_CHECK, which is on in every build")

    def check_tests_exist(self):
        """Each component (a header and its source) that is used outside its layer has a test of its
        name in tests/<layer>/, or a test there includes it. What only its own layer uses is a part
        of the component that uses it, and is tested through that one."""
        used_outside, tested = set(), set()
        for top in ("src", "apps", "tests", "bench", "fuzz"):
            for name in self.files(top, CPP):
                parts = name.split("/")
                for _, include, is_quoted in includes_of(self.read(name)):
                    if is_quoted and (top != "src" or include.split("/")[0] != parts[1]):
                        used_outside.add(include)
                    if top == "tests" and include.split("/")[0] == parts[1]:
                        tested.add(include)
        for name in self.files("src", (".cpp",)):
            header = name[len("src/"):-len("cpp")] + "hpp"
            test = f"tests/{header[:-len('.hpp')]}_test.cpp"
            has_test = header in tested or os.path.exists(os.path.join(self.root, test))
            if header in used_outside and not has_test:
                self.add(name, 1, "test", f"there is no {test}, and no test beside includes it")

    def check_decisions(self):
        """docs/adr/NNNN-title.md: numbers from 0001 without a gap, four parts, no stray file."""
        expected = 1
        for name in self.files("docs/adr", (".md",)):
            match = re.fullmatch(r"docs/adr/(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md", name)
            if not match:
                self.add(name, 1, "adr", "not named NNNN-title.md")
                continue
            if int(match.group(1)) != expected:
                self.add(name, 1, "adr", f"number {match.group(1)}; the next is {expected:04d}")
            expected = int(match.group(1)) + 1
            text = self.read(name)
            for part in ("Context", "Decision", "Alternatives", "Consequences"):
                if not re.search(rf"^## {part}$", text, re.M):
                    self.add(name, 1, "adr", f"has no part \"## {part}\"")


def main(arguments):
    root = arguments[0] if arguments else "."
    violations = Tidy(root).check()
    for name, line, rule, what in violations:
        print(f"{name}:{line}: {rule}: {what}")
    print(f"tidy: {len(violations)} violations" if violations else "tidy: no violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
