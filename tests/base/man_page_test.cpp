// Manual pages (src/base/man_page.cpp), formatted by groff where it is there.
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/option_records.hpp"
#include "base/options.hpp"
#include "support/run_command.hpp"

namespace septule {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The page as a reader sees it, without warnings of the formatter.
std::string rendered(const std::string& page) {
  const auto path = test::write_test_file("1", page);
  const auto warnings =
      test::run_command("groff -man -Tascii -ww -z -P-c -P-b -P-u " + path.string());
  EXPECT_EQ(warnings.status, 0);
  EXPECT_EQ(warnings.text, "");
  return test::run_command("groff -man -Tascii -rLL=200n -P-c -P-b -P-u " + path.string()).text;
}

TEST(ManPage_Rendered, ShowsEveryRecordAsWritten) {
  // Dots and quotes at line starts, dashes and backslashes survive; no warning is given.
  if (!test::has_program("groff")) {
    GTEST_SKIP() << "needs groff";
  }
  const auto commands = test::sample_commands();
  const std::string gpus = rendered(man_page(commands[0], "1.2.3"));
  for (const std::string_view part : {"septule-gpus - list the GPU models",
                                      "septule gpus [OPTIONS]",
                                      "One paragraph.",
                                      ".Dots and -dashes \\& more.",
                                      "-o, --output FORMAT",
                                      "One of: table, json. Default: table.",
                                      ".hidden 'x'",
                                      "'Odd.",
                                      "the command line is wrong",
                                      "Septule 1.2.3"}) {
    EXPECT_THAT(gpus, HasSubstr(part));
  }
  const std::string plan = rendered(man_page(commands[2], "1"));
  EXPECT_THAT(plan, HasSubstr(".starts with a dot, holds back\\slashes"));
  EXPECT_THAT(plan, HasSubstr("'quoted' at the start. A number from 1 to 64 GPUs."));
  EXPECT_THAT(plan, HasSubstr("--check\n"));
  EXPECT_THAT(rendered(man_page(commands[1], "1")), HasSubstr("septule gpus show [OPTIONS] GPU"));
  EXPECT_THAT(rendered(man_page(commands[3], "1")), HasSubstr("[OPTIONS] [LAYOUT]"));
}

TEST(ManOverview_Rendered, ListsCommandsAndExitCodes) {
  // The whole program on one page.
  if (!test::has_program("groff")) {
    GTEST_SKIP() << "needs groff";
  }
  const std::string page = rendered(man_overview(test::sample_commands(), "1"));
  EXPECT_THAT(page, HasSubstr("gpus show"));
  EXPECT_THAT(page, HasSubstr("say why"));
  EXPECT_THAT(page, HasSubstr("NO_COLOR"));
  for (int code = 0; code <= kExitCodeMax; ++code) {
    EXPECT_THAT(page, HasSubstr(std::string(exit_code_text(code))));
  }
}

TEST(ManPage_Source, NeedsNoFormatterToBeChecked) {
  // The parts in their order, and text that cannot be taken for a request.
  const std::string page = man_page(test::sample_commands()[0], "1");
  std::size_t from = 0;
  for (const std::string_view part : {".TH \"septule\\-gpus\" 1",
                                      ".SH NAME",
                                      ".SH SYNOPSIS",
                                      ".SH DESCRIPTION",
                                      ".SH OPTIONS",
                                      ".SH EXAMPLES",
                                      ".SH EXIT STATUS",
                                      ".SH SEE ALSO"}) {
    const std::size_t at = page.find(part, from);
    ASSERT_NE(at, std::string::npos) << part;
    from = at;
  }
  EXPECT_THAT(page, HasSubstr("\n\\&.hidden 'x'\n"));
  EXPECT_THAT(page, Not(HasSubstr("\n.Dots")));
}

}  // namespace
}  // namespace septule
