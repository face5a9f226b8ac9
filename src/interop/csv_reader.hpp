#pragma once

#include <cstddef>
#include <functional>
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
/// Fails with kInvalidInput beyond kColumnsMax columns or `rows_max` rows below the heading, and
/// for a quote that is misplaced or never closed.
Result<std::vector<CsvRow>> read_csv(const InputText& input, std::size_t rows_max);

/// Like read_csv with limits of one's own (rows_max counts the heading), for inputs that may be
/// large: each row, the heading included, is handed to `visit` as soon as it is read and is not
/// kept. An error of `visit` ends the reading and is passed on.
struct CsvLimits {
  std::size_t bytes_max = kInputBytesMax;
  std::size_t rows_max = 0;
};
Status visit_csv(const InputText& input,
                 const CsvLimits& limits,
                 const std::function<Status(CsvRow)>& visit);

}  // namespace septule::interop
