#include "septule/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <yaml-cpp/yaml.h>

namespace septule::app {

Result<Format> parse_format(std::string_view text) {
  if (text == "table") {
    return Format::kTable;
  }
  if (text == "wide") {
    return Format::kWide;
  }
  if (text == "json") {
    return Format::kJson;
  }
  if (text == "yaml") {
    return Format::kYaml;
  }
  if (text == "csv") {
    return Format::kCsv;
  }
  return Error{ErrorCode::kUsage, "--output: not one of table, wide, json, yaml, csv"};
}

Status Output::print(std::string_view text) {
  errno = 0;
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  if (written != text.size() || std::fflush(stdout) != 0) {
    is_reader_gone_ = errno == EPIPE;
    return Error{ErrorCode::kFailed,
                 fmt::format("cannot write to standard output: {}",
                             std::error_code(errno, std::generic_category())
                                 .message())};  // NOLINT(concurrency-mt-unsafe): one thread
  }
  return Status();
}

Status Output::emit(const nlohmann::ordered_json& document,
                    const std::function<std::string()>& people) {
  switch (format_) {
    case Format::kJson:
      return print(document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                   "\n");
    case Format::kYaml:
      return print(yaml_text(document));
    case Format::kTable:
    case Format::kWide:
    case Format::kCsv:
      break;
  }
  return print(people());
}

namespace {

/// Texts that a YAML reader would take for something else are quoted.
bool needs_quotes(const std::string& text) {
  const YAML::Node node = [&] {
    try {
      return YAML::Load(text);
    } catch (const YAML::Exception&) {
      return YAML::Node();
    }
  }();
  if (!node.IsScalar() || node.Scalar() != text) {
    return true;
  }
  bool flag = false;
  double number = 0;
  return YAML::convert<bool>::decode(node, flag) || YAML::convert<double>::decode(node, number);
}

void emit_yaml(YAML::Emitter& out, const nlohmann::ordered_json& value) {
  if (value.is_object()) {
    if (value.empty()) {
      out << YAML::Flow;
    }
    out << YAML::BeginMap;
    for (const auto& [key, item] : value.items()) {
      out << YAML::Key << key << YAML::Value;
      emit_yaml(out, item);
    }
    out << YAML::EndMap;
  } else if (value.is_array()) {
    if (value.empty()) {
      out << YAML::Flow;
    }
    out << YAML::BeginSeq;
    for (const auto& item : value) {
      emit_yaml(out, item);
    }
    out << YAML::EndSeq;
  } else if (value.is_string()) {
    const auto text = value.get<std::string>();
    if (needs_quotes(text)) {
      out << YAML::DoubleQuoted;
    }
    out << text;
  } else if (value.is_null()) {
    out << YAML::Null;
  } else {
    out << value.dump();  // numbers and true/false read the same in both languages
  }
}

bool is_coloured() {
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
  return isatty(STDERR_FILENO) != 0 && (no_color == nullptr || *no_color == '\0');
}

}  // namespace

std::string yaml_text(const nlohmann::ordered_json& document) {
  YAML::Emitter out;
  emit_yaml(out, document);
  return std::string(out.c_str()) + "\n";
}

void start_messages(Verbosity verbosity) {
  std::shared_ptr<spdlog::sinks::sink> sink;
  if (is_coloured()) {
    sink = std::make_shared<spdlog::sinks::ansicolor_stderr_sink_mt>(spdlog::color_mode::always);
  } else {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  }
  auto logger = std::make_shared<spdlog::logger>("septule", std::move(sink));
  logger->set_pattern("septule: %^%l%$: %v");
  logger->set_level(verbosity == Verbosity::kVerbose ? spdlog::level::debug : spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
}

void say_note(std::string_view message) {
  spdlog::info("{}", message);
}
void say_warning(std::string_view message) {
  spdlog::warn("{}", message);
}
void say_error(std::string_view message) {
  spdlog::error("{}", message);
}
void say_detail(std::string_view message) {
  spdlog::debug("{}", message);
}

}  // namespace septule::app
