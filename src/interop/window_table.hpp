#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "interop/limits.hpp"
#include "plan/job_speeds.hpp"
#include "plan/window.hpp"
#include "predict/solo_fit.hpp"

namespace septule::interop {

/// A job of a window as its row states it. Nothing = not stated.
struct WindowRow {
  int line = 0;
  plan::WindowJob job;
  /// By profile, relative to the whole GPU; 0 = does not fit (also where nothing was stated, as in
  /// job tables). All 0 = no speeds were stated at all: the shares below say how it scales.
  std::vector<double> speed;
  bool has_speeds = false;
  predict::JobKind kind = predict::JobKind::kUnknown;
  std::optional<Duration> kernel;      ///< mean length of a kernel, > 0
  std::optional<double> usable;        ///< part of the SMs it can use, (0, 1]
  std::optional<double> serial_share;  ///< of its step on the whole GPU, [0, 1]
  std::optional<double> memory_share;  ///< [0, 1 - serial_share]
  std::optional<double> sm_percent;    ///< counters, 0 to 100
  std::optional<double> memory_percent;
};

struct WindowTable {
  std::vector<WindowRow> rows;
  std::vector<std::string> notes;
};

/// Longest and shortest time of one job of a window, in seconds: ten years, a microsecond.
inline constexpr double kWindowSecondsMax = 315360000;
inline constexpr double kWindowSecondsMin = 1e-6;
/// Jobs of one window: a thousand take minutes and gigabytes.
inline constexpr std::size_t kWindowJobsMax = 1000;

/// Parses a window of jobs (docs/formats.md, "Window"): a job table (read_job_rows()) with
/// `solo_s`, and optionally `user`, `trust`, `kind` (inference, training, hpc), `kernel_us`, `w`,
/// `serial_share`, `memory_share`, `sm_percent`, `memory_percent`. Fails with kInvalidInput, naming
/// source, line, column and what would be valid.
Result<WindowTable> parse_window_table(const InputText& input, const gpu::Geometry& geometry);

}  // namespace septule::interop
