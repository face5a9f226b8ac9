// septule man: manual pages from the command records.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "septule/app.hpp"
#include "septule/files.hpp"

namespace septule::app {

namespace {

std::string page_name(const CommandRecord& record) {
  return fmt::format("septule-{}.1", fmt::join(record.path, "-"));
}

Result<int> write_all(const std::string& directory, const Context& context) {
  SEPTULE_TRY_STATUS(
      write_file(directory + "/septule.1", man_overview(context.commands, version())));
  for (const CommandRecord& record : context.commands) {
    SEPTULE_TRY_STATUS(
        write_file(directory + "/" + page_name(record), man_page(record, version())));
  }
  say_note(fmt::format("{} pages written to {}", context.commands.size() + 1, directory));
  return 0;
}

Result<int> run_man(const Invocation& invocation, Context& context) {
  if (invocation.is_given("directory")) {
    if (invocation.is_given("COMMAND")) {
      return Error{ErrorCode::kUsage, "--directory writes every page: leave COMMAND out"};
    }
    return write_all(invocation.text("directory"), context);
  }
  if (!invocation.is_given("COMMAND")) {
    SEPTULE_TRY_STATUS(context.output.print(man_overview(context.commands, version())));
    return 0;
  }
  std::string wanted = invocation.text("COMMAND");
  std::ranges::replace(wanted, '-', ' ');
  std::vector<std::string> names;
  for (const CommandRecord& record : context.commands) {
    names.push_back(record.name());
    if (record.name() == wanted) {
      SEPTULE_TRY_STATUS(context.output.print(man_page(record, version())));
      return 0;
    }
  }
  return Error{
      ErrorCode::kUsage,
      fmt::format(
          "{} is not a command; commands: {}", quoted_for_message(wanted), fmt::join(names, ", "))};
}

}  // namespace

Command man_command() {
  return {.record = {.path = {"man"},
                     .summary = "print the manual page of a command",
                     .description = {"Manual pages are made from the same records as the help; "
                                     "pipe them to `man -l -` to read, or write all of them to a "
                                     "directory."},
                     .arguments = {{.name = "COMMAND",
                                    .text = "The command, such as plan or \"gpus show\"; "
                                            "absent: the program's overview."}},
                     .options = {{.name = "directory",
                                  .value = "DIR",
                                  .text = "Write every page into this directory.",
                                  .completion = CompletionKind::kDirectory},
                                 verbose_option()},
                     .examples = {{"septule man plan | man -l -", "read the page of plan"},
                                  {"septule man --directory .", "write all pages here"}},
                     .exit_codes = {0, 1, 2}},
          .run = run_man};
}

}  // namespace septule::app
