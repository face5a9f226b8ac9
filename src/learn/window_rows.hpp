#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/inline_vector.hpp"
#include "learn/partition_space.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::learn {

/// Jobs of a window as bits: bit r = row r.
using RowSet = std::uint16_t;

/// What is worked out once of a job: a row of a network's state. Times are in seconds. Where the
/// model does not know a time alone, the job's traits guess it: networks see that, but no group
/// comes of it, as those are timed by the model.
struct Row {
  std::size_t job = 0;  ///< index into the problem's jobs
  float solo = 0;
  std::optional<float> memory_gib;
  std::array<float, kPlaces * kKindsOfPlace> alone{};  ///< time by kind_of(place, quarters)
  std::array<float, kPlaces> busy{};  ///< time in which it keeps the place's SMs busy
  /// What a job costs a good schedule: what it takes of the GPU while others use the rest. A linear
  /// guess from its parts; the network learns what it lacks.
  float price = 0;
  float area = 0;  ///< the least GPU time that it takes alone on a slice: slices / 7 x time
  bool knows_kernel = false;
  // Parts of its step alone on the whole GPU; the middle of the known ranges where not known.
  float usable = 1;
  float serial = 0;
  float memory_part = 0;
};

/// At most kWindowRows jobs of a problem, longest first, then in the order given: the lead of a
/// group is the first that is left. A value; nothing of it changes.
class WindowRows {
 public:
  /// `jobs`: which of the problem's, at most kWindowRows.
  WindowRows(const PartitionSpace& space,
             const optimize::WindowProblem& problem,
             std::span<const std::size_t> jobs);

  std::size_t count() const { return count_; }
  const Row& operator[](std::size_t row) const { return rows_[row]; }
  const predict::JobTraits& traits(std::size_t row) const {
    return problem_->traits[rows_[row].job];
  }
  const optimize::WindowProblem& problem() const { return *problem_; }
  RowSet all() const { return static_cast<RowSet>((1U << count_) - 1U); }
  float solo_sum() const { return solo_sum_; }
  float solo_mean() const { return solo_sum_ / static_cast<float>(count_); }
  /// Memory that the jobs of a place share: that of its GPU instance. Nothing = not published.
  const std::optional<Bytes>& memory(Place place) const {
    return memory_[static_cast<std::size_t>(place)];
  }
  /// The same in GiB; 0 if not published.
  float memory_gib(Place place) const { return memory_gib_[static_cast<std::size_t>(place)]; }

 private:
  void work_out(const PartitionSpace& space, Row& row);
  void set_prices();

  const optimize::WindowProblem* problem_;
  std::array<Row, kWindowRows> rows_{};
  std::size_t count_ = 0;
  float solo_sum_ = 0;
  std::array<std::optional<Bytes>, kPlaces> memory_{};
  std::array<float, kPlaces> memory_gib_{};
};

}  // namespace septule::learn
