#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// A row of a CSV text and the line it begins on. Cells are trimmed of outer blanks unless quoted.
struct CsvRow {
  int line = 0;
  std::vector<std::string> cells;
};

/// The rows of a CSV text (commas, double quotes, blank lines left out), the heading included.
/// Fails with kInvalidInput beyond kColumnsMax columns or `rows_max` rows, and for a quote that is
/// misplaced or never closed.
Result<std::vector<CsvRow>> read_csv(const InputText& input, std::size_t rows_max);

}  // namespace septule::interop
