#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "optimize/partition_table.hpp"

namespace septule::sched {

/// Which partitions a MISO-like policy may choose from.
enum class PartitionChoice {
  kPaperTable,  ///< the paper's table: no 4g+3g, exactly one instance per job
  kEverything,  ///< every legal layout of plain profiles; instances may stay idle
};

/// How many jobs of each smallest fitting profile are on a GPU. Made by AdmissionTable; a value.
struct AdmissionState {
  std::uint32_t key = 0;  ///< three bits for each rank
  int job_count = 0;

  friend bool operator==(const AdmissionState&, const AdmissionState&) = default;
};

/// Which jobs a GPU can still take so that some partition serves all of them (miso.md section 5).
///
/// Assumptions: a job runs on its smallest fitting plain profile and on every larger one; larger =
/// more memory slices, then more compute slices. A *rank* is a plain profile's place in that order,
/// from 0 for the smallest.
/// Steps: for each set of up to seven smallest profiles construction looks whether some partition
/// holds an instance of at least that rank for each, and notes the largest rank that can be added.
/// Because the order is total, comparing both lists from large to small decides it.
/// Cost: bound() is one look-up; construction tries every set (8 per rank at most) once. Immutable
/// after construction; any thread may read.
class AdmissionTable {
 public:
  static constexpr int kFull = -1;     ///< bound of a GPU that can take no job
  static constexpr int kRanksMax = 6;  ///< plain profiles of one GPU

  AdmissionTable(const gpu::Geometry& geometry, PartitionChoice choice);

  int rank_count() const { return static_cast<int>(profile_of_rank_.size()); }
  /// The rank of a plain profile; that of the whole GPU for any other profile.
  int rank_of(ProfileIndex profile) const;
  ProfileIndex profile_of(int rank) const {
    return profile_of_rank_[static_cast<std::size_t>(rank)];
  }
  /// The largest profile.
  ProfileIndex whole_profile() const { return profile_of_rank_.back(); }

  /// The state with one more job whose smallest profile has this rank. Any number of jobs.
  static AdmissionState with(AdmissionState state, int rank);
  /// The largest rank of which a job can still be added, or kFull. A job of a smaller rank can then
  /// be added too.
  int bound(AdmissionState state) const;

 private:
  using Ranks = std::vector<int>;  // of the instances of a partition, from large to small
  static bool is_served(std::span<const int> jobs,
                        std::span<const Ranks> partitions,
                        PartitionChoice choice);
  void fill(std::vector<int>& jobs, AdmissionState state, std::span<const Ranks> partitions);

  PartitionChoice choice_;
  std::vector<ProfileIndex> profile_of_rank_;
  std::vector<int> rank_of_profile_;
  std::vector<std::int8_t> bound_;  // by key
};

}  // namespace septule::sched
