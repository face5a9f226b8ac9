#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// The options that say what a study simulates: as flags of `septule simulate` and as keys of a
/// study file alike.
std::vector<OptionRecord> study_records();

/// The settings of one study: flags before the study file before defaults. A value; one thread.
class StudySettings {
 public:
  /// Reads the file of --study, if any.
  static Result<StudySettings> make(const Invocation& invocation);

  bool is_given(std::string_view name) const { return values_.find(name) != values_.end(); }
  /// The value given, else the default of its record.
  std::string text(std::string_view name) const;
  double number(std::string_view name) const;
  /// `fault` with the place of the setting before it: "--seeds: ..." or "study.yaml:3: /seeds:
  /// ...".
  Error located(std::string_view name, const Error& fault) const;
  /// A command that gives the same study: every setting that is given, in the order of the records.
  std::string command() const;
  /// Names and texts of all settings, given or default, in the order of the records.
  std::vector<std::pair<std::string, std::string>> all() const;

 private:
  struct Value {
    std::string text;
    std::string place;
  };
  const OptionRecord& record(std::string_view name) const;

  std::vector<OptionRecord> records_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace septule::app
