#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"

namespace septule::app {

/// kCsv: only where a command's record offers it; the command prints its rows itself.
enum class Format { kTable, kWide, kJson, kYaml, kCsv };
Result<Format> parse_format(std::string_view text);

/// Data goes to standard output through here, messages to standard error through the functions
/// below. Writing is checked: a full disk or a closed pipe is an error, not silence.
class Output {
 public:
  explicit Output(Format format) : format_(format) {}

  Format format() const { return format_; }
  void set_format(Format format) { format_ = format; }
  bool is_for_people() const { return format_ == Format::kTable || format_ == Format::kWide; }
  bool is_wide() const { return format_ == Format::kWide; }
  /// Prints `document` as JSON or YAML, or calls `people` for the table forms.
  Status emit(const nlohmann::ordered_json& document, const std::function<std::string()>& people);
  /// Prints text as it is.
  Status print(std::string_view text);
  /// Whether writing failed because whoever read standard output has closed it.
  bool is_reader_gone() const { return is_reader_gone_; }

 private:
  Format format_;
  bool is_reader_gone_ = false;
};

/// Messages for people on standard error ("septule: warning: ..."), coloured on a terminal only.
enum class Verbosity { kNormal, kVerbose };
void start_messages(Verbosity verbosity);
void say_note(std::string_view message);
void say_warning(std::string_view message);
void say_error(std::string_view message);
void say_detail(std::string_view message);  ///< with --verbose only

/// Block-style YAML of a JSON document.
std::string yaml_text(const nlohmann::ordered_json& document);

}  // namespace septule::app
