#!/usr/bin/env python3
"""Tests of tidy.py: a clean tree passes, each rule fires on a small tree that breaks it."""
import os
import tempfile
import unittest

import tidy

CLEAN = {
    "cmake/layers.cmake": 'set(ROWS\n    "base|0|-"\n    "gpu|1|base"\n    "job|1|base"\n'
                          '    "plan|2|gpu,job,base"\n    "live|6|base")\n',
    "CMakeLists.txt": "septule_layer(base LIBS fmt::fmt)\nseptule_layer(gpu)\n",
    "src/base/units.hpp": "#pragma once\n#include <fmt/format.h>\n",
    "src/gpu/profile.hpp": '#pragma once\n#include "base/units.hpp"\n',
    "src/gpu/profile.cpp": '#include "gpu/profile.hpp"\n',
    "tests/gpu/profile_test.cpp": '#include "gpu/profile.hpp"\nTEST(A, B_C) {\n  // Aim.\n}\n',
    "apps/septule/main.cpp": '#include "gpu/profile.hpp"\n',
    "docs/adr/0001-first.md": "# First\n## Context\n## Decision\n## Alternatives\n"
                              "## Consequences\n",
}
DECISION = CLEAN["docs/adr/0001-first.md"]


class TidyTest(unittest.TestCase):
    def violations(self, changes):
        """(file, rule) of each violation of the clean tree with `changes` (None removes)."""
        with tempfile.TemporaryDirectory() as root:
            for name, text in {**CLEAN, **changes}.items():
                if text is None:
                    continue
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            return {(name, rule) for name, _, rule, _ in tidy.Tidy(root).check()}

    def fires(self, rule, name, text):
        self.assertEqual(self.violations({name: text}), {(name, rule)}, text)

    def passes(self, name, text):
        self.assertEqual(self.violations({name: text}), set(), text)

    def test_clean_tree_passes(self):
        self.assertEqual(self.violations({}), set())

    def test_layers_only_downwards(self):
        self.fires("layer", "src/base/a.hpp", '#pragma once\n#include "gpu/profile.hpp"\n')
        self.fires("layer", "src/job/a.hpp", '#pragma once\n#include "gpu/profile.hpp"\n')
        self.passes("src/plan/a.hpp", '#pragma once\n#include "gpu/profile.hpp"\n')
        self.fires("layer", "src/nowhere/a.hpp", "#pragma once\n")
        self.fires("layers", "cmake/layers.cmake", CLEAN["cmake/layers.cmake"].replace(
            '"base|0|-"', '"base|0|gpu"'))
        self.fires("layers", "cmake/layers.cmake", CLEAN["cmake/layers.cmake"].replace(
            '"job|1|base"', '"job|1|gpu"'))

    def test_includes_name_the_layer(self):
        for include in ('"profile.hpp"', '"../base/units.hpp"', '"gpu/nothing.hpp"',
                        "<base/units.hpp>"):
            self.fires("include", "src/gpu/a.hpp", f"#pragma once\n#include {include}\n")
        self.fires("include", "apps/septule/main.cpp", '#include "gpu/other.hpp"\n')
        self.passes("fuzz/a_fuzz.cpp", '#include "fuzz_support.hpp"\n')

    def test_libraries_are_those_of_cmake(self):
        self.fires("library", "src/gpu/a.hpp", "#pragma once\n#include <fmt/format.h>\n")
        self.fires("library", "src/base/a.hpp", "#pragma once\n#include <nlohmann/json.hpp>\n")
        self.fires("library", "src/base/a.hpp", "#pragma once\n#include <cassert>\n")
        self.passes("apps/septule/main.cpp", "#include <CLI/CLI.hpp>\n")

    def test_pure_layers_touch_nothing_outside(self):
        cases = {
            "clock": ["std::chrono::steady_clock::now()", "std::time(nullptr)", "clock_gettime(a)"],
            "sleep": ["usleep(1)"],
            "random": ["std::random_device d", "std::mt19937 r", "std::rand()",
                       "std::normal_distribution<> d"],
            "thread": ["std::thread t", "std::jthread t", "std::mutex m", "std::async(f)"],
            "environment": ["std::getenv(name)", "setenv(a, b, 1)"],
            "file": ["fopen(a, b)", "std::ifstream f", "std::filesystem::path p"],
            "output": ["std::cout << 1", "printf(a)", "std::fputs(a, b)", "fmt::print(a)"],
            "regex": ["std::regex r"],
            "locale": ["std::stod(a)", "strtod(a, b)", "atoi(a)", "std::tolower(c)",
                       "std::snprintf(a)"],
            "exit": ["std::exit(1)"],
            "throw": ["throw 1"],
            "volatile": ["volatile int a"],
            "using-namespace": ["using namespace std"],
        }
        for rule, snippets in cases.items():
            for snippet in snippets:
                self.fires(rule, "src/gpu/a.hpp", f"#pragma once\nauto a() {{ {snippet}; }}\n")
        for header, rule in (("chrono", "clock"), ("random", "random"), ("thread", "thread"),
                             ("fstream", "file"), ("iostream", "output"), ("regex", "regex")):
            self.fires(rule, "src/gpu/a.hpp", f"#pragma once\n#include <{header}>\n")

    def test_impure_layers_and_apps_may(self):
        self.passes("src/live/a.hpp", "#pragma once\nauto a() { return std::getenv(b); }\n")
        self.passes("apps/septule/main.cpp", "int main() { std::puts(std::getenv(b)); }\n")
        self.fires("throw", "apps/septule/main.cpp", "int main() { throw 1; }\n")

    def test_comments_and_texts_are_not_code(self):
        for line in ("// throw, std::thread", "/* std::regex\n */", 'auto a = "throw \\" x";',
                     'auto a = R"~~(throw " )" std::rand())~~";', "int a = 1'000; // it's \"throw",
                     "char a = '\"'; // throw\n"):
            self.passes("src/gpu/a.hpp", f"#pragma once\n{line}\n".replace("\n\n", "\n"))
        self.fires("throw", "src/gpu/a.hpp", "#pragma once\nchar a = '\"'; throw 1; // \"\n")
        self.fires("throw", "src/gpu/a.hpp", "#pragma once\nint a = 1'000; throw 1'0;\n")

    def test_shape(self):
        self.fires("pragma", "src/gpu/a.hpp", "// #pragma once\n")
        self.fires("length", "src/gpu/a.hpp", "#pragma once\n" + "int a;\n" * 500)
        self.passes("src/gpu/a.hpp", "#pragma once\n" + "int a;\n" * 499)
        self.fires("columns", "src/gpu/a.hpp", "#pragma once\n//" + "x" * 99 + "\n")
        self.passes("src/gpu/a.hpp", "#pragma once\n//" + "é" * 98 + "\n")
        self.fires("blanks", "src/gpu/a.hpp", "#pragma once \n")
        self.fires("blanks", "src/gpu/a.hpp", "#pragma once\n\tint a;\n")
        self.fires("end", "src/gpu/a.hpp", "#pragma once")
        self.fires("name", "src/gpu/a b.hpp", "#pragma once\n")
        self.fires("columns", "tools/a.sh", "#" * 101 + "\n")

    def test_to_do_needs_an_issue(self):
        mark = "TO" + "DO"
        self.fires("todo", "src/gpu/a.hpp", f"#pragma once\n// {mark}: later\n")
        self.fires("todo", "src/gpu/a.hpp", f"#pragma once\n// {mark}(me): later\n")
        self.fires("todo", "src/gpu/a.hpp", "#pragma once\n// FIX" + "ME(#1)\n")
        self.passes("src/gpu/a.hpp", f"#pragma once\n// {mark}(#12): later\n")

    def test_each_component_has_a_test(self):
        without = {"tests/gpu/profile_test.cpp": None}
        self.assertEqual(self.violations(without), {("src/gpu/profile.cpp", "test")})
        self.assertEqual(self.violations({**without, "apps/septule/main.cpp": None}), set())
        other = '#include "gpu/profile.hpp"\n'
        self.assertEqual(self.violations({**without, "tests/gpu/other_test.cpp": other}), set())
        self.assertEqual(self.violations({**without, "tests/job/other_test.cpp": other}),
                         {("src/gpu/profile.cpp", "test")})
        self.passes("src/gpu/profile_parse.cpp", '#include "gpu/profile.hpp"\n')

    def test_tests_say_their_aim_and_do_not_wait(self):
        name = "tests/gpu/profile_test.cpp"
        self.fires("aim", name, "TEST(A, B_C) {\n  EXPECT_TRUE(true);\n}\n")
        self.fires("aim", name, "RC_GTEST_PROP(A,\n              B_C,\n              (int a)) {\n"
                                "  RC_ASSERT(a == a);\n}\n")
        self.passes(name, "RC_GTEST_PROP(A,\n              B_C,\n              (int a)) {\n"
                          "  // Aim.\n}\n")
        self.fires("sleep", name, "void a() { std::this_thread::sleep_for(b); }\n")
        self.fires("clock", name, "auto a = std::chrono::steady_clock::now();\n")

    def test_decisions_are_numbered_and_whole(self):
        self.assertEqual(self.violations({"docs/adr/0002-b.md": DECISION}), set())
        for name in ("docs/adr/0003-b.md", "docs/adr/0001-b.md", "docs/adr/second.md"):
            self.assertIn((name if "0001" not in name else "docs/adr/0001-first.md", "adr"),
                          self.violations({name: DECISION}))
        self.fires("adr", "docs/adr/0002-b.md", DECISION.replace("## Alternatives\n", ""))


if __name__ == "__main__":
    unittest.main()
