#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "septule/output.hpp"

namespace septule::app {

/// The command line after parsing: which command, and the text of each option and argument given.
/// Values have been checked against their records (choices, ranges).
class Invocation {
 public:
  Invocation(const CommandRecord& command, std::map<std::string, std::vector<std::string>> values);

  const CommandRecord& command() const { return *command_; }
  bool is_given(std::string_view name) const;
  /// The value given, else the record's default, else empty.
  std::string text(std::string_view name) const;
  /// Like text(), for a record with a numeric range.
  double number(std::string_view name) const;

 private:
  const OptionRecord* record(std::string_view name) const;

  const CommandRecord* command_;
  std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// What every command works with. Made once in main(); one thread.
struct Context {
  const gpu::Catalogue& catalogue;
  const gpu::LatencyTable& latencies;
  const std::vector<CommandRecord>& commands;
  Output& output;
};

/// A command: its record and what it does. The handler returns the exit code, or an Error that
/// main() prints and turns into one.
struct Command {
  CommandRecord record;
  Result<int> (*run)(const Invocation& invocation, Context& context) = nullptr;
};

/// Every command, in the order of help. Each is defined in commands/<name>.cpp.
std::vector<Command> all_commands();

Command gpus_command();
Command gpus_show_command();
Command validate_command();
Command plan_command();
Command diff_command();
Command apply_command();
Command explain_fit_command();
Command defrag_command();
Command window_command();
Command serve_plan_command();
Command serve_simulate_command();
Command serve_min_gpus_command();
Command serve_max_goodput_command();
Command serve_compare_command();
Command trace_generate_command();
Command trace_import_command();
Command trace_describe_command();
Command simulate_command();
Command policies_command();
Command predict_command();
Command train_predictor_command();
Command train_window_command();
Command completion_command();
Command man_command();

/// Options shared by commands, so that they read the same everywhere.
OptionRecord output_option();
OptionRecord verbose_option();
OptionRecord gpu_option(std::string_view text);
OptionRecord state_option();
OptionRecord config_option();
OptionRecord index_option();
/// FROM and TO of diff and apply.
std::vector<OptionRecord> transition_arguments();

/// The value of --profiles.
gpu::ProfileSet profile_set_option(const Invocation& invocation);

int exit_code_of(ErrorCode code);

/// The version of the program, "0.1.0".
std::string_view version();

}  // namespace septule::app
