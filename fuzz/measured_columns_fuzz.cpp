#include <algorithm>
#include <string>
#include <string_view>

#include "interop/measured_columns_reader.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

/// An array of halves as NumPy writes it, for so many rows.
static std::string halves(std::size_t rows) {
  std::string heading =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 3, 7), }";
  heading.append((64 - (10 + heading.size() + 1) % 64) % 64, ' ');
  heading += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(heading.size() & 0xFFU);
  bytes += static_cast<char>(heading.size() >> 8U);
  bytes += heading;
  for (std::size_t i = 0; i < rows * 21; ++i) {
    bytes.append("\x00\x00\x00\x3F", 4);
  }
  return bytes;
}

/// The table of rows, a line "===", the table of classes.
static int run_one(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kCut = "===\n";
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t cut = std::min(text.find(kCut), text.size());
  const std::string_view rows = text.substr(0, cut);
  const std::string_view classes =
      cut < text.size() ? text.substr(cut + kCut.size()) : std::string_view();
  const auto lines = static_cast<std::size_t>(std::ranges::count(rows, '\n'));
  const std::string steps = halves(lines > 0 ? lines - 1 : 0);
  for (const char* part : {"0", "4", "resnet", "x"}) {
    const auto columns = interop::read_measured_columns(
        {{steps, "steps"}, {rows, "rows"}, {classes, "classes"}}, part);
    if (!columns) {
      fuzz::require_good(columns.error());
      continue;
    }
    for (const predict::MeasuredColumn& column : columns->columns) {
      fuzz::require(column.co_runners >= 1 && column.co_runners <= 7, "a run has 1 to 7 jobs");
      fuzz::require(column.step[0] == 0.5, "times are those of the array");
      fuzz::require(!columns->find(column.job, column.co_runners).empty(), "columns are found");
    }
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
