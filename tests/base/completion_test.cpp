// Completion scripts (src/base/completion.cpp), run in the shells that are there.
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/option_records.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "support/run_command.hpp"

namespace septule {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string script(Shell shell) {
  return completion_script(shell, test::sample_commands(), test::sample_models());
}

/// What bash offers for the words typed so far; the last is the one being completed.
std::vector<std::string> bash_offers(std::string_view words) {
  const auto path = test::write_test_file("bash", script(Shell::kBash));
  const auto directory = test::write_test_file("dir", "").string() + ".d";
  const auto output = test::run_command(
      fmt::format("mkdir -p '{1}' && cd '{1}' && touch gpu-file layout.csv && bash -c '\n"
                  "source \"{0}\"\nCOMP_WORDS=({2})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n"
                  "_septule\nprintf \"%s\\n\" \"${{COMPREPLY[@]}}\"'",
                  path.string(),
                  directory,
                  words));
  EXPECT_EQ(output.status, 0) << output.text;
  std::vector<std::string> offers;
  for (const std::string_view line : split_lines(output.text)) {
    if (!line.empty()) {
      offers.emplace_back(line);
    }
  }
  return offers;
}

TEST(Completion_Bash, ScriptIsAcceptedByBash) {
  // bash -n reads the whole script without running it.
  const auto path = test::write_test_file("bash", script(Shell::kBash));
  const auto output = test::run_command("bash -n " + path.string());
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(output.text, "");
}

TEST(Completion_Bash, CommandsAreOffered) {
  // First and second words, without files of the working directory.
  EXPECT_THAT(bash_offers("septule gp"), ElementsAre("gpus"));
  EXPECT_THAT(bash_offers("septule gpus \"\""), Contains("show"));
  EXPECT_THAT(bash_offers("septule gpus \"\""), Not(Contains("gpu-file")));
  EXPECT_THAT(bash_offers("septule explain \"\""), Contains("fit"));
  EXPECT_THAT(bash_offers("septule \"\""),
              testing::IsSupersetOf({"gpus", "plan", "validate", "completion", "explain"}));
  EXPECT_THAT(bash_offers("septule nonsense"), IsEmpty());
}

TEST(Completion_Bash, OptionsAreOffered) {
  // Long and short, of the command typed; a flag takes no value.
  EXPECT_THAT(bash_offers("septule plan --p"), ElementsAre("--policy"));
  EXPECT_THAT(bash_offers("septule gpus show -"), testing::IsSupersetOf({"--output", "-o"}));
  EXPECT_THAT(bash_offers("septule gpus show --p"), IsEmpty());
  EXPECT_THAT(bash_offers("septule plan --check --p"), ElementsAre("--policy"));
}

TEST(Completion_Bash, ValuesOfOptionsAreOffered) {
  // Choices, GPU models and files; also after "--gpu=".
  EXPECT_THAT(bash_offers("septule plan --policy \"\""),
              ElementsAre("pack", "same-gpu", "two words", "$HOME"));
  EXPECT_THAT(bash_offers("septule plan --policy p"), ElementsAre("pack"));
  EXPECT_THAT(bash_offers("septule plan --gpu A100"), ElementsAre("A100-40GB", "A100-80GB"));
  EXPECT_THAT(bash_offers("septule plan --gpu = A3"), ElementsAre("A30-24GB"));
  EXPECT_THAT(bash_offers("septule plan --policy ="), testing::SizeIs(4));
  EXPECT_THAT(bash_offers("septule plan --jobs lay"), ElementsAre("layout.csv"));
  EXPECT_THAT(bash_offers("septule gpus show -o j"), ElementsAre("json"));
}

TEST(Completion_Bash, ArgumentsAreOffered) {
  // GPU models, choices and files of a command's arguments.
  EXPECT_THAT(bash_offers("septule gpus show A3"), ElementsAre("A30-24GB"));
  EXPECT_THAT(bash_offers("septule completion f"), ElementsAre("fish"));
  EXPECT_THAT(bash_offers("septule validate lay"), ElementsAre("layout.csv"));
}

TEST(Completion_Zsh, ScriptIsAcceptedByZsh) {
  // zsh -n reads the whole script without running it.
  if (!test::has_program("zsh")) {
    GTEST_SKIP() << "needs zsh";
  }
  const auto path = test::write_test_file("zsh", script(Shell::kZsh));
  const auto output = test::run_command("zsh -n " + path.string());
  EXPECT_EQ(output.status, 0) << output.text;
  EXPECT_EQ(output.text, "");
}

TEST(Completion_Zsh, EveryKindOfWordIsInTheScript) {
  // Commands with summaries, options, choices, models and files.
  const std::string text = script(Shell::kZsh);
  EXPECT_THAT(text, testing::StartsWith("#compdef septule\n"));
  EXPECT_THAT(text, HasSubstr("'show:show one model'"));
  EXPECT_THAT(text, HasSubstr("'--jobs[Jobs \\[CSV\\]\\: one a line.]:FILE:_files'"));
  EXPECT_THAT(text, HasSubstr(":MODEL:(A30-24GB A100-40GB A100-80GB)'"));
  EXPECT_THAT(text, HasSubstr("(pack same-gpu two\\ words \\$HOME)"));
  EXPECT_THAT(text, HasSubstr("'*:value:(bash zsh fish)'"));
  EXPECT_THAT(text, HasSubstr("it'\\''s a key"));
}

TEST(Completion_Fish, ScriptOffersWhatBashOffers) {
  // Run in fish itself, which can be asked what it would offer.
  if (!test::has_program("fish")) {
    GTEST_SKIP() << "needs fish";
  }
  const auto path = test::write_test_file("fish", script(Shell::kFish));
  const auto offers = [&](std::string_view line) {
    return test::run_command(fmt::format("HOME=/nonexistent fish --no-config -c 'source {}; "
                                         "complete -C \"{}\"' 2>/dev/null | cut -f 1",
                                         path.string(),
                                         line))
        .text;
  };
  EXPECT_EQ(test::run_command("fish --no-execute " + path.string()).text, "");
  EXPECT_EQ(offers("septule gp"), "gpus\n");
  EXPECT_EQ(offers("septule gpus sh"), "show\n");
  EXPECT_EQ(offers("septule plan --gpu A3"), "A30-24GB\n");
  EXPECT_EQ(offers("septule plan --policy tw"), "two words\n");
  EXPECT_EQ(offers("septule gpus show A3"), "A30-24GB\n");
  EXPECT_EQ(offers("septule completion f"), "fish\n");
  EXPECT_EQ(offers("septule plan --po"), "--policy\n");
}

TEST(Completion_NoCommands, GivesAScriptAnyway) {
  // Nothing to offer is no reason to give a script that does not parse.
  const auto path = test::write_test_file("bash", completion_script(Shell::kBash, {}, {}));
  EXPECT_EQ(test::run_command("bash -n " + path.string()).text, "");
}

}  // namespace
}  // namespace septule
