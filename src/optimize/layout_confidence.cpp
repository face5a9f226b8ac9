#include "optimize/layout_confidence.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "optimize/slice_assignment.hpp"

namespace septule::optimize {

namespace {

constexpr plan::ObjectiveKind kGoal = plan::ObjectiveKind::kSumOfSpeeds;

/// A speed that may vary: where it goes in the matrix, and its distribution.
struct Cell {
  int job = 0;
  ProfileIndex profile;
  double mean = 0;
  double sd = 0;
};

std::vector<Cell> cells_of(const gpu::Geometry& geometry,
                           const SliceProfiles& profiles,
                           std::span<const PredictedJob> jobs) {
  std::vector<Cell> cells;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const SliceFits fits = slice_fits(geometry, profiles, jobs[j]);
    for (std::size_t i = 0; i < predict::kSlices; ++i) {
      if (may_be_used(fits[i])) {
        cells.push_back({.job = static_cast<int>(j),
                         .profile = profiles[i],
                         .mean = jobs[j].prediction.speed[i],
                         .sd = jobs[j].prediction.speed_sd[i]});
      }
    }
  }
  return cells;
}

void fill(SpeedMatrix& matrix, const Cell& cell, double speed) {
  const bool is_set =
      matrix.set_speed(cell.job, cell.profile, std::clamp(speed, plan::kSpeedMin, plan::kSpeedMax));
  SEPTULE_CHECK(is_set, "a clamped speed is in range");
}

/// Each error is a part that all slices of its job share and a part of its own.
void draw_speeds(std::span<const Cell> cells, double correlation, Rng& rng, SpeedMatrix& matrix) {
  const double shared_part = std::sqrt(correlation);
  const double own_part = std::sqrt(1 - correlation);
  int job = -1;
  double shared = 0;
  for (const Cell& cell : cells) {
    if (cell.job != job) {
      job = cell.job;
      shared = rng.normal(0, 1);
    }
    const double error = shared_part * shared + own_part * rng.normal(0, 1);
    fill(matrix, cell, cell.mean + cell.sd * error);
  }
}

double total_of(const SpeedMatrix& matrix, const SliceAssignment& choice) {
  double total = 0;
  for (int job = 0; job < choice.job_count; ++job) {
    total += matrix.speed(job, choice.slots[static_cast<std::size_t>(job)].placed.profile);
  }
  return total;
}

bool is_same_choice(const SliceAssignment& a, const SliceAssignment& b) {
  for (int job = 0; job < a.job_count; ++job) {
    const auto at = static_cast<std::size_t>(job);
    if (a.slots[at].placed.profile != b.slots[at].placed.profile) {
      return false;
    }
  }
  return true;
}

Status check_options(std::span<const PredictedJob> jobs, const ConfidenceOptions& options) {
  if (jobs.empty() || jobs.size() > static_cast<std::size_t>(kAssignedJobsMax)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} jobs; expected 1 to {}", jobs.size(), kAssignedJobsMax)};
  }
  if (options.draws < 1 || options.draws > kConfidenceDrawsMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} draws; expected 1 to {}", options.draws, kConfidenceDrawsMax)};
  }
  if (!(options.correlation >= 0 && options.correlation <= 1)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("a correlation of {}; expected from 0 to 1", options.correlation)};
  }
  if (!(options.coverage > 0 && options.coverage < 1)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("a coverage of {}; expected between 0 and 1", options.coverage)};
  }
  return {};
}

}  // namespace

Result<std::optional<LayoutConfidence>> layout_confidence(const gpu::Geometry& geometry,
                                                          const SliceProfiles& profiles,
                                                          std::span<const PredictedJob> jobs,
                                                          const ConfidenceOptions& options) {
  SEPTULE_TRY_STATUS(check_options(jobs, options));
  SEPTULE_TRY(const SliceAssigner assigner, SliceAssigner::make(geometry, {}));
  const std::vector<Cell> cells = cells_of(geometry, profiles, jobs);
  SpeedMatrix matrix(static_cast<int>(jobs.size()));
  for (const Cell& cell : cells) {
    fill(matrix, cell, cell.mean);
  }
  SliceAssignment choice;
  assigner.solve(matrix, kGoal, choice);
  if (!choice.is_feasible()) {
    return std::optional<LayoutConfidence>();
  }
  LayoutConfidence confidence{.draws = options.draws};
  Rng rng = Rng(options.seed).stream("layout confidence");
  std::vector<double> totals;
  int same = 0;
  int within = 0;
  for (int draw = 0; draw < options.draws; ++draw) {
    draw_speeds(cells, options.correlation, rng, matrix);
    SliceAssignment best;
    assigner.solve(matrix, kGoal, best);
    const double total = total_of(matrix, choice);
    const double loss = std::max(0.0, 1 - total / total_of(matrix, best));
    constexpr double kLossMax = 0.01;
    same += is_same_choice(choice, best) ? 1 : 0;
    within += loss <= kLossMax ? 1 : 0;
    confidence.loss_mean += loss / options.draws;
    totals.push_back(total);
  }
  std::ranges::sort(totals);
  const auto tail =
      static_cast<std::size_t>(std::floor((1 - options.coverage) / 2 * options.draws));
  confidence.total_low = totals[tail];
  confidence.total_high = totals[totals.size() - 1 - tail];
  confidence.same_choice = static_cast<double>(same) / options.draws;
  confidence.within_one_percent = static_cast<double>(within) / options.draws;
  return std::optional(confidence);
}

}  // namespace septule::optimize
