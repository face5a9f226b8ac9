#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict::test {

inline const gpu::Geometry& model(std::string_view key) {
  static const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const Result<const gpu::Geometry*> found = catalogue.find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

inline const gpu::Geometry& a100() {
  return model("A100-40GB");
}

inline ProfileIndex profile(const gpu::Geometry& geometry, std::string_view name) {
  return checked_value(geometry.find_profile(name), "tests name known profiles");
}

inline job::SliceTime slice_ms(std::string profile, int step_ms) {
  return {.profile = std::move(profile),
          .step = Duration::milliseconds(step_ms),
          .first_step = Duration()};
}

/// Fits 2g and up; 4g is no faster than 3g.
inline job::PerfSignature measured() {
  job::PerfSignature signature;
  signature.name = "measured:1";
  signature.family = "measured";
  signature.gpu_key = "A100-40GB";
  signature.times = {slice_ms("7g.40gb", 100),
                     slice_ms("4g.20gb", 160),
                     slice_ms("3g.20gb", 160),
                     slice_ms("2g.10gb", 250)};
  return signature;
}

/// Steps of serial + parallel / share milliseconds on the A100's five plain profiles.
inline job::PerfSignature amdahl(std::string name, int serial_ms, int parallel_ms) {
  job::PerfSignature signature;
  signature.name = std::move(name);
  signature.family = "amdahl";
  signature.gpu_key = "A100-40GB";
  for (const auto& [profile, slices] : std::vector<std::pair<const char*, int>>{
           {"1g.5gb", 1}, {"2g.10gb", 2}, {"3g.20gb", 3}, {"4g.20gb", 4}, {"7g.40gb", 7}}) {
    signature.times.push_back({.profile = profile,
                               .step = Duration::nanoseconds(serial_ms * 1'000'000LL +
                                                             parallel_ms * 7'000'000LL / slices),
                               .first_step = Duration()});
  }
  return signature;
}

inline job::PerfSignature synthetic(double saturation, job::Bound bound, std::uint64_t memory_mib) {
  job::PerfSignature signature;
  signature.name = "synthetic";
  signature.family = "synthetic";
  signature.synthetic = job::SyntheticResponse{.saturation = saturation, .bound = bound};
  signature.memory = Bytes::mebibytes(memory_mib);
  return signature;
}

inline SpeedBook make_book(const gpu::Geometry& geometry,
                           const std::vector<job::PerfSignature>& signatures) {
  Result<SpeedBook> book = SpeedBook::make(geometry, signatures);
  SEPTULE_CHECK(book.has_value(), "tests make valid signatures unless they say otherwise");
  return std::move(book).value();
}

}  // namespace septule::predict::test
