#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace septule {

/// What a shell may offer while a value is being typed.
enum class CompletionKind { kNone, kFile, kDirectory, kGpuModel };

/// An option or argument as a record: help, checks, manual pages and shell completion all come from
/// this one table. Plain value; no thread rule.
struct OptionRecord {
  std::string name;          ///< "gpu" for --gpu; "LAYOUT" for an argument
  char short_name = '\0';    ///< 'o' for -o
  std::string value;         ///< placeholder ("MODEL"); empty = a flag without value
  std::string text;          ///< one sentence
  std::string unit;          ///< unit of a number; empty = none
  std::string default_text;  ///< value when absent; empty = none
  std::vector<std::string> choices;
  std::optional<double> min;  ///< smallest and largest allowed number
  std::optional<double> max;
  bool is_integer = false;  ///< only whole numbers: no fraction, no exponent
  bool is_required = false;
  CompletionKind completion = CompletionKind::kNone;
};

/// One example of a command's help: what is typed and what it is for.
struct ExampleRecord {
  std::string command;
  std::string text;
};

/// A subcommand as a record.
struct CommandRecord {
  std::vector<std::string> path;         ///< {"gpus", "show"}
  std::string summary;                   ///< half a line, without a full stop
  std::vector<std::string> description;  ///< paragraphs
  std::vector<OptionRecord> arguments;
  std::vector<OptionRecord> options;
  std::vector<ExampleRecord> examples;
  std::vector<int> exit_codes;  ///< those it can give, ascending

  std::string name() const;  ///< "gpus show"
};

/// The meaning of each exit code, by number; the one list behind help, manual and documents.
std::string_view exit_code_text(int exit_code);
inline constexpr int kExitCodeMax = 8;

/// "from 1 to 64 GPUs", "from 0 up", "up to 9"; empty if the record has no limits.
std::string range_text(const OptionRecord& record);
/// Checks a value against its record: choices, number range. Fails with kUsage, saying what would
/// be valid.
Status check_option(const OptionRecord& record, std::string_view value);

/// A manual page (roff, section 1) of one command.
std::string man_page(const CommandRecord& command, std::string_view version);
/// The manual page of the program: its commands and exit codes.
std::string man_overview(std::span<const CommandRecord> commands, std::string_view version);

enum class Shell { kBash, kZsh, kFish };
/// A completion script for commands, options, choices, files and GPU models.
std::string completion_script(Shell shell,
                              std::span<const CommandRecord> commands,
                              std::span<const std::string> gpu_models);

}  // namespace septule
