#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/index_set.hpp"
#include "base/units.hpp"

namespace septule::sched {

/// The GPUs that may take a job, sorted so that "fewest running jobs, bound at least so large,
/// lowest number" is found at once: one IndexSet for each (job count, bound).
/// Cost: set(), erase() log64(GPUs); find() at most ranks x log64(GPUs) for the job count that has
/// one, and one word looked at for each that has none. One owner.
class AdmissionIndex {
 public:
  static constexpr int kJobCountMax = 6;  ///< a GPU with more jobs takes none

  AdmissionIndex(int gpu_count, int rank_count);

  /// Enters a GPU, or moves it. `bound` = AdmissionTable::bound(); a GPU that is full is taken out.
  void set(GpuId gpu, int job_count, int bound);
  void erase(GpuId gpu);
  bool contains(GpuId gpu) const { return bucket_of_[at(gpu)] != kNone; }

  /// The GPU with the fewest jobs whose bound is at least `rank`; ties to the lowest number.
  std::optional<GpuId> find(int rank) const;
  /// Up to `count_max` GPUs whose bound is at least `rank`, fewest jobs first, then lowest number,
  /// appended to `out`.
  void find_several(int rank, std::size_t count_max, std::vector<GpuId>& out) const;
  /// How many GPUs without jobs there are.
  std::size_t empty_count() const;
  /// The first GPU without jobs whose number is at least `from`.
  std::optional<GpuId> first_empty(int from) const;

 private:
  static constexpr std::int16_t kNone = -1;
  static std::size_t at(GpuId gpu) { return static_cast<std::size_t>(gpu.value()); }
  std::size_t bucket(int job_count, int bound) const {
    return static_cast<std::size_t>(job_count) * static_cast<std::size_t>(rank_count_) +
           static_cast<std::size_t>(bound);
  }

  int rank_count_;
  std::vector<IndexSet> buckets_;        // by job count, then bound
  std::vector<std::uint32_t> filled_;    // by job count: bit b = bucket of bound b holds some
  std::vector<std::int16_t> bucket_of_;  // by GPU
};

}  // namespace septule::sched
