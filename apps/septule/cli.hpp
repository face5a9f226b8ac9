#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// What the command line asks for: a command to run, or a text to print (help, version).
struct Parsed {
  const Command* command = nullptr;  ///< null: only print `text`
  std::map<std::string, std::vector<std::string>> values;
  std::string text;
  bool is_incomplete = false;  ///< no command was named: `text` is the help, but it is an error
};

/// Parses arguments (without the program name) against the command records; checks every value.
/// Fails with kUsage.
Result<Parsed> parse_command_line(const std::vector<Command>& commands,
                                  std::vector<std::string> arguments);

}  // namespace septule::app
