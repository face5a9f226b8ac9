// Manual pages from the command records (declared in options.hpp).
#include <fmt/format.h>

#include "base/options.hpp"

namespace septule {

namespace {

/// Text made safe for roff: backslashes, leading dots and hyphens.
std::string roff(std::string_view text) {
  std::string out;
  bool is_line_start = true;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if ((c == '.' || c == '\'') && is_line_start) {
      out += std::string("\\&") + c;
    } else {
      out += c;
    }
    is_line_start = c == '\n';
  }
  return out;
}

std::string header(std::string_view name, std::string_view version) {
  return fmt::format(".TH \"{}\" 1 \"\" \"Septule {}\" \"Septule\"\n", roff(name), version);
}

void append_option(std::string& page, const OptionRecord& option, bool is_argument) {
  std::string title;
  if (is_argument) {
    title = fmt::format("\\fI{}\\fR", roff(option.name));
  } else {
    if (option.short_name != '\0') {
      title = fmt::format("\\fB\\-{}\\fR, ", option.short_name);
    }
    title += fmt::format("\\fB\\-\\-{}\\fR", roff(option.name));
    if (!option.value.empty()) {
      title += fmt::format(" \\fI{}\\fR", roff(option.value));
    }
  }
  std::string text = option.text;
  if (!option.choices.empty()) {
    text += fmt::format(" One of: {}.", fmt::join(option.choices, ", "));
  }
  if (const std::string range = range_text(option); !range.empty()) {
    text += fmt::format(" A number {}.", range);
  }
  if (!option.default_text.empty()) {
    text += fmt::format(" Default: {}.", option.default_text);
  }
  page += fmt::format(".TP\n{}\n{}\n", title, roff(text));
}

void append_exit_codes(std::string& page, const std::vector<int>& codes) {
  page += ".SH EXIT STATUS\n";
  for (const int code : codes) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", code, roff(exit_code_text(code)));
  }
}

}  // namespace

std::string man_page(const CommandRecord& command, std::string_view version) {
  const std::string name = fmt::format("septule-{}", fmt::join(command.path, "-"));
  std::string page = header(name, version);
  page += fmt::format(".SH NAME\n{} \\- {}\n.SH SYNOPSIS\n\\fBseptule {}\\fR [\\fIOPTIONS\\fR]",
                      roff(name),
                      roff(command.summary),
                      roff(command.name()));
  for (const OptionRecord& argument : command.arguments) {
    page += argument.is_required ? fmt::format(" \\fI{}\\fR", roff(argument.name))
                                 : fmt::format(" [\\fI{}\\fR]", roff(argument.name));
  }
  page += "\n.SH DESCRIPTION\n";
  for (const std::string& paragraph : command.description) {
    page += roff(paragraph) + "\n.PP\n";
  }
  if (!command.arguments.empty()) {
    page += ".SH ARGUMENTS\n";
    for (const OptionRecord& argument : command.arguments) {
      append_option(page, argument, true);
    }
  }
  page += ".SH OPTIONS\n";
  for (const OptionRecord& option : command.options) {
    append_option(page, option, false);
  }
  page += ".SH EXAMPLES\n";
  for (const ExampleRecord& example : command.examples) {
    page += fmt::format(
        "{}\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n.PP\n", roff(example.text), roff(example.command));
  }
  append_exit_codes(page, command.exit_codes);
  page += ".SH SEE ALSO\n\\fBseptule\\fR(1)\n";
  return page;
}

std::string man_overview(std::span<const CommandRecord> commands, std::string_view version) {
  std::string page = header("septule", version);
  page +=
      ".SH NAME\nseptule \\- packs many jobs onto few NVIDIA GPUs\n"
      ".SH SYNOPSIS\n\\fBseptule\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n"
      ".SH DESCRIPTION\nKnows what every MIG\\-capable GPU can be cut into, plans layouts exactly "
      "and "
      "says how to get from one layout to another without touching an instance in use.\n"
      ".SH COMMANDS\n";
  for (const CommandRecord& command : commands) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(command.name()), roff(command.summary));
  }
  std::vector<int> codes;
  for (int code = 0; code <= kExitCodeMax; ++code) {
    codes.push_back(code);
  }
  append_exit_codes(page, codes);
  page += ".SH ENVIRONMENT\n.TP\n\\fBNO_COLOR\\fR\nIf set and not empty, nothing is coloured.\n";
  return page;
}

}  // namespace septule
