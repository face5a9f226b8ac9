#include "septule/cli.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::app {

namespace {

constexpr std::size_t kHelpColumns = 80;
constexpr std::size_t kHelpIndent = 30;  // where CLI11 begins an option's text

/// CLI11's view of one command and the places where it puts values.
struct Node {
  CLI::App* app = nullptr;
  const Command* command = nullptr;
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
};

/// Lines of at most `columns`, broken at blanks; a word longer than that stays whole.
std::string wrapped(const std::string& text, std::size_t columns) {
  std::string lines;
  std::size_t used = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (used > 0 && used + 1 + word.size() > columns) {
      lines += '\n';
      used = 0;
    } else if (used > 0) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += word.size();
    at = end + 1;
  }
  return lines;
}

std::string footer_of(const CommandRecord& record) {
  std::string footer = "\nExamples:\n";
  for (const ExampleRecord& example : record.examples) {
    footer += fmt::format("  # {}\n  {}\n", example.text, example.command);
  }
  footer += "\nExit codes:\n";
  for (const int code : record.exit_codes) {
    footer += fmt::format("  {}  {}\n", code, exit_code_text(code));
  }
  return footer;
}

std::string help_of(const OptionRecord& option) {
  std::string text = option.text;
  if (!option.choices.empty()) {
    text += fmt::format(" One of: {}.", fmt::join(option.choices, ", "));
  }
  if (option.min && option.max) {
    text += fmt::format(" From {} to {}{}.",
                        *option.min,
                        *option.max,
                        option.unit.empty() ? "" : " " + option.unit);
  }
  if (!option.default_text.empty()) {
    text += fmt::format(" Default: {}.", option.default_text);
  }
  return wrapped(text, kHelpColumns - kHelpIndent);
}

/// What the command is for, above its options.
std::string introduction_of(const CommandRecord& record) {
  std::string text =
      wrapped("septule " + record.name() + ": " + record.summary + ".", kHelpColumns);
  for (const std::string& paragraph : record.description) {
    text += "\n\n" + wrapped(paragraph, kHelpColumns);
  }
  return text + "\n";
}

void add_options(Node& node) {
  const CommandRecord& record = node.command->record;
  for (const OptionRecord& argument : record.arguments) {
    CLI::Option* option =
        node.app->add_option(argument.name, node.values[argument.name], help_of(argument));
    option->required(argument.is_required)->type_name("");
  }
  for (const OptionRecord& option : record.options) {
    const std::string names = option.short_name == '\0'
                                  ? "--" + option.name
                                  : fmt::format("-{},--{}", option.short_name, option.name);
    if (option.value.empty()) {
      node.app->add_flag(names, node.flags[option.name], help_of(option));
    } else {
      node.app->add_option(names, node.values[option.name], help_of(option))
          ->type_name(option.value)
          ->required(option.is_required);
    }
  }
  node.app->footer(footer_of(record));
  node.app->description(wrapped(record.summary, kHelpColumns - kHelpIndent));
}

CLI::App* child_of(CLI::App* parent, const std::string& name) {
  for (CLI::App* child : parent->get_subcommands([](CLI::App*) { return true; })) {
    if (child->get_name() == name) {
      return child;
    }
  }
  return parent->add_subcommand(name);
}

/// The deepest subcommand that was named on the command line.
CLI::App* deepest(CLI::App* app) {
  const std::vector<CLI::App*> chosen = app->get_subcommands();
  return chosen.empty() ? app : deepest(chosen.front());
}

/// Help of the command that was named: its whole text, and one line for each command below it.
std::string help_text(CLI::App& app, const std::vector<std::unique_ptr<Node>>& nodes) {
  CLI::App* at = deepest(&app);
  for (const auto& node : nodes) {
    if (node->app == at) {
      at->description(introduction_of(node->command->record));
    }
  }
  std::string before;
  for (const CLI::App* up = at->get_parent(); up != nullptr; up = up->get_parent()) {
    before.insert(0, before.empty() ? up->get_name() : up->get_name() + " ");
  }
  return at->help(before);
}

/// Words that only lead to commands (`explain`) are described by these.
void describe_groups(CLI::App& app) {
  for (CLI::App* group : app.get_subcommands([](CLI::App*) { return true; })) {
    if (group->get_description().empty()) {
      std::vector<std::string> names;
      for (const CLI::App* child : group->get_subcommands([](CLI::App*) { return true; })) {
        names.push_back(fmt::format("{}: {}", child->get_name(), child->get_description()));
      }
      group->description(fmt::format("{}", fmt::join(names, "\n")));
    }
  }
}

Error unknown_command(const std::vector<Command>& commands, const std::string& word) {
  std::vector<std::string> names;
  for (const Command& command : commands) {
    names.push_back(command.record.path.front());
  }
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return Error{ErrorCode::kUsage,
               fmt::format("{} is not a command; commands: {} (septule --help)",
                           quoted_for_message(word),
                           fmt::join(names, ", "))};
}

/// A second word that is no command of a word that only leads to commands: `serve min-gpu`.
std::optional<Error> unknown_subcommand(const std::vector<Command>& commands,
                                        const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[1].starts_with('-')) {
    return std::nullopt;
  }
  std::vector<std::string> names;
  for (const Command& command : commands) {
    const std::vector<std::string>& path = command.record.path;
    if (path.front() != arguments[0]) {
      continue;
    }
    if (path.size() == 1 || path[1] == arguments[1]) {
      return std::nullopt;
    }
    names.push_back(path[1]);
  }
  return Error{ErrorCode::kUsage,
               fmt::format("{} is not a command of {}; commands: {} (septule {} --help)",
                           quoted_for_message(arguments[1]),
                           quoted_for_message(arguments[0]),
                           fmt::join(names, ", "),
                           arguments[0])};
}

/// For a word that only leads to commands.
Error incomplete_command(CLI::App& chosen) {
  std::vector<std::string> names;
  for (const CLI::App* child : chosen.get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(fmt::format("{} {}", chosen.get_name(), child->get_name()));
  }
  return Error{ErrorCode::kUsage,
               fmt::format("{} is not a command by itself; commands: {} (septule {} --help)",
                           quoted_for_message(chosen.get_name()),
                           fmt::join(names, ", "),
                           chosen.get_name())};
}

/// Standard input can be read only once.
Status check_standard_input(const Parsed& parsed) {
  const CommandRecord& record = parsed.command->record;
  std::vector<std::string> readers;
  for (const auto* list : {&record.arguments, &record.options}) {
    for (const OptionRecord& option : *list) {
      const auto given = parsed.values.find(option.name);
      if (option.completion == CompletionKind::kFile && given != parsed.values.end() &&
          given->second.front() == "-") {
        readers.push_back(list == &record.options ? "--" + option.name : option.name);
      }
    }
  }
  if (readers.size() > 1) {
    return Error{ErrorCode::kUsage,
                 fmt::format("{} cannot both come from standard input", joined_with_and(readers))};
  }
  return Status();
}

Result<Parsed> collect(const Node& node) {
  Parsed parsed;
  parsed.command = node.command;
  const CommandRecord& record = node.command->record;
  for (const auto* list : {&record.arguments, &record.options}) {
    for (const OptionRecord& option : *list) {
      const bool is_flag = list == &record.options && option.value.empty();
      if (is_flag) {
        if (node.flags.at(option.name)) {
          parsed.values[option.name] = {"true"};
        }
        continue;
      }
      const std::string lookup = list == &record.options ? "--" + option.name : option.name;
      if (node.app->get_option(lookup)->count() > 0) {
        const std::string& value = node.values.at(option.name);
        Status checked = check_option(option, value);
        if (!checked) {
          Error error = checked.error();
          if (list == &record.arguments && error.message.starts_with("--")) {
            error.message.erase(0, 2);  // arguments are named without dashes
          }
          return error;
        }
        parsed.values[option.name] = {value};
      }
    }
  }
  SEPTULE_TRY_STATUS(check_standard_input(parsed));
  return parsed;
}

}  // namespace

Result<Parsed> parse_command_line(const std::vector<Command>& commands,
                                  std::vector<std::string> arguments) {
  CLI::App app{
      "Packs many jobs onto few NVIDIA GPUs: what a GPU can be cut into, the best cut\n"
      "for given jobs, and the safe way there.\n",
      "septule"};
  // One command a call: without this, `septule man plan` would name two.
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", std::string("septule ") + std::string(version()));
  app.footer("\nseptule COMMAND --help explains a command, with examples and exit codes.");
  std::vector<std::unique_ptr<Node>> nodes;
  for (const Command& command : commands) {
    auto node = std::make_unique<Node>();
    node->command = &command;
    node->app = &app;
    for (const std::string& word : command.record.path) {
      node->app = child_of(node->app, word);
    }
    add_options(*node);
    nodes.push_back(std::move(node));
  }
  describe_groups(app);
  const bool has_word = !arguments.empty() && !arguments.front().starts_with('-');
  const auto is_named = [&](const Command& command) {
    return command.record.path.front() == arguments.front();
  };
  if (has_word && std::ranges::none_of(commands, is_named)) {
    return unknown_command(commands, arguments.front());
  }
  if (const auto error = has_word ? unknown_subcommand(commands, arguments) : std::nullopt) {
    return *error;
  }
  CLI::App* chosen = nullptr;
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back
    app.parse(arguments);
    chosen = deepest(&app);
  } catch (const CLI::CallForHelp&) {
    return Parsed{.command = nullptr, .values = {}, .text = help_text(app, nodes)};
  } catch (const CLI::CallForVersion& call) {
    return Parsed{.command = nullptr, .values = {}, .text = std::string(call.what()) + "\n"};
  } catch (const CLI::ParseError& problem) {
    const CLI::App* at = deepest(&app);
    std::string where = at == &app ? "septule" : "septule " + at->get_name();
    if (at->get_parent() != nullptr && at->get_parent() != &app) {
      where = fmt::format("septule {} {}", at->get_parent()->get_name(), at->get_name());
    }
    std::string what = problem.what();
    std::ranges::replace(what, '\n', ' ');
    return Error{ErrorCode::kUsage, fmt::format("{} ({} --help)", what, where)};
  }
  for (const auto& node : nodes) {
    if (node->app == chosen) {
      return collect(*node);
    }
  }
  if (chosen == &app) {
    return Parsed{
        .command = nullptr, .values = {}, .text = help_text(app, nodes), .is_incomplete = true};
  }
  return incomplete_command(*chosen);
}

}  // namespace septule::app
