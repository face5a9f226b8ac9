// Shell completion scripts from the command records (declared in options.hpp).
#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/options.hpp"

namespace septule {

namespace {

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

/// Names that can follow the words of `path`, with their summaries ("show", "...").
std::vector<std::pair<std::string, std::string>> next_words(std::span<const CommandRecord> commands,
                                                            const std::vector<std::string>& path) {
  std::vector<std::pair<std::string, std::string>> words;
  for (const CommandRecord& command : commands) {
    if (command.path.size() <= path.size() ||
        !std::equal(path.begin(), path.end(), command.path.begin())) {
      continue;
    }
    const std::string& word = command.path[path.size()];
    const bool is_known =
        std::ranges::any_of(words, [&](const auto& w) { return w.first == word; });
    if (!is_known) {
      words.emplace_back(word, command.path.size() == path.size() + 1 ? command.summary : "");
    }
  }
  return words;
}

std::vector<std::vector<std::string>> all_paths(std::span<const CommandRecord> commands) {
  std::vector<std::vector<std::string>> paths{{}};
  for (const CommandRecord& command : commands) {
    for (std::size_t length = 1; length <= command.path.size(); ++length) {
      std::vector<std::string> path(command.path.begin(),
                                    command.path.begin() + static_cast<std::ptrdiff_t>(length));
      if (std::ranges::find(paths, path) == paths.end()) {
        paths.push_back(std::move(path));
      }
    }
  }
  return paths;
}

const CommandRecord* command_at(std::span<const CommandRecord> commands,
                                const std::vector<std::string>& path) {
  const auto found = std::ranges::find(commands, path, &CommandRecord::path);
  return found == commands.end() ? nullptr : &*found;
}

/// A word of a list that the shell splits at blanks: anything special gets a backslash.
std::string list_word(std::string_view word) {
  constexpr std::string_view kSpecial = " \t\\'\"$`()[]{}<>|&;*?~#!";
  std::string out;
  for (const char c : word) {
    out += kSpecial.find(c) == std::string_view::npos ? "" : "\\";
    out += c;
  }
  return out;
}

std::string value_words(const OptionRecord& option, std::span<const std::string> models) {
  const std::span<const std::string> values =
      option.completion == CompletionKind::kGpuModel ? models : option.choices;
  std::string words;
  for (const std::string& value : values) {
    words += (words.empty() ? "" : " ") + list_word(value);
  }
  return words;
}

/// What can stand for any argument of a command, and whether one of them is a file.
std::string argument_words(const CommandRecord& command, std::span<const std::string> models) {
  std::string words;
  for (const OptionRecord& argument : command.arguments) {
    const std::string more = value_words(argument, models);
    words += (words.empty() || more.empty() ? "" : " ") + more;
  }
  return words;
}

bool wants_file(const OptionRecord& option) {
  return option.completion == CompletionKind::kFile ||
         option.completion == CompletionKind::kDirectory;
}

bool takes_files(const CommandRecord& command) {
  return std::ranges::any_of(command.arguments, wants_file);
}

std::string option_words(const CommandRecord& command) {
  std::string words = "--help";
  for (const OptionRecord& option : command.options) {
    words += fmt::format(" --{}", option.name);
    if (option.short_name != '\0') {
      words += fmt::format(" -{}", option.short_name);
    }
  }
  return words;
}

/// The branches of `case "$path|$word"` that follow the commands typed so far (bash and zsh).
std::string path_cases(std::span<const CommandRecord> commands) {
  std::string script;
  for (const auto& path : all_paths(commands)) {
    for (const auto& [word, summary] : next_words(commands, path)) {
      script += fmt::format("      {}) path={} ;;\n",
                            single_quoted(fmt::format("{}|{}", fmt::join(path, " "), word)),
                            single_quoted(fmt::format(
                                "{}{}{}", fmt::join(path, " "), path.empty() ? "" : " ", word)));
    }
  }
  return script;
}

std::string bash_script(std::span<const CommandRecord> commands,
                        std::span<const std::string> models) {
  std::string script =
      "# bash completion for septule; made by: septule completion bash\n"
      "_septule() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  if [[ $current == '=' ]]; then\n"
      "    current=''\n"
      "  elif [[ $previous == '=' && COMP_CWORD -gt 1 ]]; then\n"
      "    previous=${COMP_WORDS[COMP_CWORD-2]}\n"
      "  fi\n"
      "  local path='' word i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    word=${COMP_WORDS[i]}\n"
      "    case \"$path|$word\" in\n";
  script += path_cases(commands);
  script += "    esac\n  done\n  COMPREPLY=()\n  case \"$path|$previous\" in\n";
  for (const CommandRecord& command : commands) {
    for (const OptionRecord& option : command.options) {
      if (option.value.empty()) {
        continue;
      }
      std::string pattern = single_quoted(fmt::format("{}|--{}", command.name(), option.name));
      if (option.short_name != '\0') {
        pattern += "|" + single_quoted(fmt::format("{}|-{}", command.name(), option.short_name));
      }
      const std::string reply = wants_file(option)
                                    ? std::string("compgen -f -- \"$current\"")
                                    : fmt::format("compgen -W {} -- \"$current\"",
                                                  single_quoted(value_words(option, models)));
      script += fmt::format("    {}) mapfile -t COMPREPLY < <({}); return ;;\n", pattern, reply);
    }
  }
  script += "  esac\n  local words='' files=''\n  case \"$path\" in\n";
  for (const auto& path : all_paths(commands)) {
    std::string words;
    bool has_files = false;
    for (const auto& [word, summary] : next_words(commands, path)) {
      words += word + " ";
    }
    if (const CommandRecord* command = command_at(commands, path)) {
      words += option_words(*command);
      words += " " + argument_words(*command, models);
      has_files = takes_files(*command);
    } else {
      words += "--help --version";
    }
    script += fmt::format("    {}) words={}{} ;;\n",
                          single_quoted(fmt::format("{}", fmt::join(path, " "))),
                          single_quoted(words),
                          has_files ? " files=yes" : "");
  }
  script +=
      "  esac\n"
      "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\"; "
      "[[ -z $files || $current == -* ]] || compgen -f -- \"$current\")\n"
      "}\n"
      "complete -o filenames -F _septule septule\n";
  return script;
}

std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out;
}

std::string zsh_option(const OptionRecord& option, std::span<const std::string> models) {
  std::string tail = fmt::format("[{}]", zsh_text(option.text));
  if (!option.value.empty()) {
    const std::string action =
        wants_file(option) ? "_files" : fmt::format("({})", value_words(option, models));
    tail += fmt::format(":{}:{}", zsh_text(option.value), action);
  }
  std::string lines =
      fmt::format("      {} \\\n", single_quoted(fmt::format("--{}{}", option.name, tail)));
  if (option.short_name != '\0') {
    lines +=
        fmt::format("      {} \\\n", single_quoted(fmt::format("-{}{}", option.short_name, tail)));
  }
  return lines;
}

std::string zsh_script(std::span<const CommandRecord> commands,
                       std::span<const std::string> models) {
  std::string script =
      "#compdef septule\n# zsh completion for septule; made by: septule completion zsh\n"
      "_septule() {\n  local path='' word i\n  local -a names\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n    word=${words[i]}\n    case \"$path|$word\" in\n";
  script += path_cases(commands);
  script += "    esac\n  done\n  case \"$path\" in\n";
  for (const auto& path : all_paths(commands)) {
    script += fmt::format("  {})\n", single_quoted(fmt::format("{}", fmt::join(path, " "))));
    const auto next = next_words(commands, path);
    if (!next.empty()) {
      script += "    names=(\n";
      for (const auto& [word, summary] : next) {
        script += fmt::format("      {}\n", single_quoted(word + ":" + zsh_text(summary)));
      }
      script += "    )\n    _describe command names\n";
    }
    if (const CommandRecord* command = command_at(commands, path)) {
      script += "    _arguments \\\n";
      for (const OptionRecord& option : command->options) {
        script += zsh_option(option, models);
      }
      const std::string words = argument_words(*command, models);
      script += takes_files(*command)
                    ? "      '*:file:_files'\n"
                    : fmt::format("      {}\n", single_quoted("*:value:(" + words + ")"));
    }
    script += "    ;;\n";
  }
  return script + "  esac\n}\n_septule \"$@\"\n";
}

std::string fish_script(std::span<const CommandRecord> commands,
                        std::span<const std::string> models) {
  std::string script =
      "# fish completion for septule; made by: septule completion fish\n"
      "function __septule_path\n"
      "  set -l words (commandline -opc)\n  set -l path\n"
      "  for word in $words[2..]\n    switch \"$path|$word\"\n";
  for (const auto& path : all_paths(commands)) {
    for (const auto& [word, summary] : next_words(commands, path)) {
      script += fmt::format("      case {}\n        set path {}\n",
                            single_quoted(fmt::format("{}|{}", fmt::join(path, " "), word)),
                            single_quoted(fmt::format(
                                "{}{}{}", fmt::join(path, " "), path.empty() ? "" : " ", word)));
    }
  }
  script +=
      "    end\n  end\n  echo \"$path\"\nend\nfunction __septule_at\n"
      "  test (__septule_path) = \"$argv[1]\"\nend\n";
  for (const auto& path : all_paths(commands)) {
    const std::string at = fmt::format("__septule_at \"{}\"", fmt::join(path, " "));
    for (const auto& [word, summary] : next_words(commands, path)) {
      script += fmt::format("complete -c septule -f -n {} -a {} -d {}\n",
                            single_quoted(at),
                            word,
                            single_quoted(summary));
    }
    const CommandRecord* command = command_at(commands, path);
    if (command == nullptr) {
      continue;
    }
    if (const std::string words = argument_words(*command, models); !words.empty()) {
      script += fmt::format(
          "complete -c septule -f -n {} -a {}\n", single_quoted(at), single_quoted(words));
    } else if (!takes_files(*command)) {
      script += fmt::format("complete -c septule -f -n {}\n", single_quoted(at));
    }
    for (const OptionRecord& option : command->options) {
      std::string line =
          fmt::format("complete -c septule -n {} -l {}", single_quoted(at), option.name);
      if (option.short_name != '\0') {
        line += fmt::format(" -s {}", option.short_name);
      }
      if (!option.value.empty()) {
        line += wants_file(option)
                    ? " -r -F"
                    : fmt::format(" -x -a {}", single_quoted(value_words(option, models)));
      }
      script += fmt::format("{} -d {}\n", line, single_quoted(option.text));
    }
  }
  return script;
}

}  // namespace

std::string completion_script(Shell shell,
                              std::span<const CommandRecord> commands,
                              std::span<const std::string> gpu_models) {
  switch (shell) {
    case Shell::kBash:
      return bash_script(commands, gpu_models);
    case Shell::kZsh:
      return zsh_script(commands, gpu_models);
    case Shell::kFish:
      return fish_script(commands, gpu_models);
  }
  check_failed("shell", "a Shell is one of the enumerators", __FILE__, __LINE__);
}

}  // namespace septule
