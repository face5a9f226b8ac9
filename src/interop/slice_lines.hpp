#pragma once

#include <string>
#include <string_view>

#include "predict/slice_prediction.hpp"

namespace septule::interop {

/// A line of the answer of `septule predict --jsonl`, without its line end (docs/formats.md, "The
/// stream of predictions"; stable): {"slice_time":{"7g":[7],"4g":[7],"3g":[7]},"slice_speed":
/// {"2g":[7],"1g":[7]},"sd":{"7g":[7],...,"1g":[7]}}, null for an absent job; sd in the unit of its
/// slice's value. Seven significant digits.
std::string write_slice_line(const predict::SlicePredictions& predictions);

/// {"error":"MESSAGE"}, without its line end.
std::string write_error_line(std::string_view message);

}  // namespace septule::interop
