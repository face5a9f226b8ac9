#include "interop/slice_lines.hpp"

#include <functional>
#include <iterator>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace septule::interop {

namespace {

using Value = std::function<double(const predict::SlicePrediction&)>;

/// "4g":[0.5,null,...]
void append_list(std::string& line,
                 std::string_view slice,
                 const predict::SlicePredictions& predictions,
                 const Value& value) {
  fmt::format_to(std::back_inserter(line), "\"{}\":[", slice);
  std::string_view separator;
  for (const std::optional<predict::SlicePrediction>& prediction : predictions) {
    line += separator;
    separator = ",";
    if (prediction.has_value()) {
      fmt::format_to(std::back_inserter(line), "{:.7g}", value(*prediction));
    } else {
      line += "null";
    }
  }
  line += ']';
}

constexpr std::size_t kTimes = std::tuple_size_v<decltype(predict::SlicePrediction::time)>;

}  // namespace

std::string write_slice_line(const predict::SlicePredictions& predictions) {
  std::string line = "{\"slice_time\":{";
  for (std::size_t i = 0; i < kTimes; ++i) {
    line += i == 0 ? "" : ",";
    append_list(
        line, predict::kSliceNames[i], predictions, [i](const auto& one) { return one.time[i]; });
  }
  line += "},\"slice_speed\":{";
  for (std::size_t i = kTimes; i < predict::kSlices; ++i) {
    line += i == kTimes ? "" : ",";
    append_list(
        line, predict::kSliceNames[i], predictions, [i](const auto& one) { return one.speed[i]; });
  }
  line += "},\"sd\":{";
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    line += i == 0 ? "" : ",";
    append_list(line, predict::kSliceNames[i], predictions, [i](const auto& one) {
      return i < kTimes ? one.time_sd[i] : one.speed_sd[i];
    });
  }
  return line + "}}";
}

std::string write_error_line(std::string_view message) {
  nlohmann::ordered_json object;
  object["error"] = message;
  return object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace septule::interop
