#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

/// A setting of a study file: the option of this name, with the text that would stand on the
/// command line. Flags have the text "true"; a flag set to false is left out.
struct StudyFileEntry {
  std::string name;
  std::string text;
  int line = 0;
};

/// Reads a study file (docs/formats.md, "Study file"): a YAML map whose keys are names of
/// `options`; lists are joined by commas. Values are checked against their options. Fails with
/// kInvalidInput naming file, line and key; unknown keys come with near ones.
Result<std::vector<StudyFileEntry>> parse_study_file(const InputText& input,
                                                     std::span<const OptionRecord> options);

}  // namespace septule::interop
