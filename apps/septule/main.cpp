// Wiring: parse the command line, load the built-in tables, run one command, report.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "gpu/builtin_catalogue.hpp"
#include "septule/app.hpp"
#include "septule/cli.hpp"
#include "septule/output.hpp"

namespace septule::app {

namespace {

/// Says what went wrong, but not that the reader of a pipe (`| head`) had enough.
int report(const Error& error, const Output& output) {
  if (!output.is_reader_gone()) {
    say_error(error.message);
  }
  return exit_code_of(error.code);
}

int run(const std::vector<std::string>& arguments) {
  const std::vector<Command> commands = all_commands();
  start_messages(Verbosity::kNormal);
  const auto parsed = parse_command_line(commands, arguments);
  if (!parsed) {
    say_error(parsed.error().message);
    return exit_code_of(parsed.error().code);
  }
  Output output(Format::kTable);
  if (parsed->command == nullptr) {
    const Status printed = output.print(parsed->text);
    if (!printed) {
      return report(printed.error(), output);
    }
    return parsed->is_incomplete ? 2 : 0;
  }
  const Invocation invocation(parsed->command->record, parsed->values);
  if (parsed->values.contains("verbose")) {
    start_messages(Verbosity::kVerbose);
  }
  if (const auto format = parsed->values.find("output"); format != parsed->values.end()) {
    output.set_format(parse_format(format->second.front()).value());
  }
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::LatencyTable latencies = gpu::load_builtin_latencies();
  std::vector<CommandRecord> records;
  for (const Command& command : commands) {
    records.push_back(command.record);
  }
  Context context{catalogue, latencies, records, output};
  const Result<int> result = parsed->command->run(invocation, context);
  if (!result) {
    return report(result.error(), output);
  }
  return *result;
}

}  // namespace

}  // namespace septule::app

int main(int argc, char** argv) {
  // A closed pipe is a failed write (exit code 1), like a full disk.
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c)
  // So is a file that grows beyond the limit of `ulimit -f`.
  std::signal(SIGXFSZ, SIG_IGN);  // NOLINT(cert-err33-c)
  return septule::app::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
