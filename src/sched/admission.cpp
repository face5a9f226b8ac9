#include "sched/admission.hpp"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/check.hpp"
#include "gpu/layout.hpp"

namespace septule::sched {

namespace {

constexpr int kBitsPerRank = 3;
constexpr int kJobsMax = optimize::kAssignedJobsMax;

/// The profiles of each partition to choose from.
std::vector<std::vector<ProfileIndex>> partitions_of(const gpu::Geometry& geometry,
                                                     PartitionChoice choice) {
  std::vector<std::vector<ProfileIndex>> partitions;
  if (choice == PartitionChoice::kPaperTable) {
    const optimize::PartitionTable table = optimize::PartitionTable::paper(geometry);
    for (std::size_t code = 0; code < table.code_count(); ++code) {
      const auto profiles = table.profiles(static_cast<int>(code));
      partitions.emplace_back(profiles.begin(), profiles.end());
    }
    return partitions;
  }
  for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
    std::vector<ProfileIndex>& profiles = partitions.emplace_back();
    for (const gpu::PlacedProfile& placed : layout) {
      profiles.push_back(placed.profile);
    }
  }
  return partitions;
}

}  // namespace

AdmissionTable::AdmissionTable(const gpu::Geometry& geometry, PartitionChoice choice)
    : choice_(choice), profile_of_rank_(geometry.profiles_in(gpu::ProfileSet::kPlain)) {
  SEPTULE_CHECK(!profile_of_rank_.empty(), "only boards with a profile table are scheduled");
  SEPTULE_CHECK(profile_of_rank_.size() <= static_cast<std::size_t>(kRanksMax),
                "a GPU has at most six plain profiles");
  std::ranges::sort(profile_of_rank_, {}, [&](ProfileIndex index) {
    const gpu::GpuInstanceProfile& profile = geometry.profile(index);
    return std::tuple(profile.placements.front().size, profile.slices, index);
  });
  rank_of_profile_.assign(geometry.profiles().size(), rank_count() - 1);
  for (int rank = 0; rank < rank_count(); ++rank) {
    rank_of_profile_[static_cast<std::size_t>(profile_of(rank).value())] = rank;
  }
  std::set<Ranks> partitions;
  for (const std::vector<ProfileIndex>& profiles : partitions_of(geometry, choice)) {
    Ranks ranks;
    for (const ProfileIndex profile : profiles) {
      ranks.push_back(rank_of(profile));
    }
    std::ranges::sort(ranks, std::greater());
    partitions.insert(ranks);
  }
  bound_.assign(std::size_t{1} << static_cast<unsigned>(kBitsPerRank * rank_count()), kFull);
  std::vector<int> jobs;
  fill(jobs, {}, std::vector<Ranks>(partitions.begin(), partitions.end()));
}

int AdmissionTable::rank_of(ProfileIndex profile) const {
  const auto at = static_cast<std::size_t>(profile.value());
  return at < rank_of_profile_.size() ? rank_of_profile_[at] : rank_count() - 1;
}

bool AdmissionTable::is_served(std::span<const int> jobs,
                               std::span<const Ranks> partitions,
                               PartitionChoice choice) {
  return std::ranges::any_of(partitions, [&](const Ranks& ranks) {
    if (choice == PartitionChoice::kPaperTable ? ranks.size() != jobs.size()
                                               : ranks.size() < jobs.size()) {
      return false;
    }
    return std::ranges::equal(
        jobs, std::span(ranks).first(jobs.size()), [](int job, int rank) { return rank >= job; });
  });
}

/// `jobs` from large to small; fills the bounds of it and of all that adds jobs of no larger rank.
void AdmissionTable::fill(std::vector<int>& jobs,
                          AdmissionState state,
                          std::span<const Ranks> partitions) {
  std::int8_t& bound = bound_[state.key];
  for (int rank = rank_count() - 1; rank >= 0 && bound == kFull; --rank) {
    std::vector<int> more = jobs;
    more.insert(std::ranges::upper_bound(more, rank, std::greater()), rank);
    if (is_served(more, partitions, choice_)) {
      bound = static_cast<std::int8_t>(rank);
    }
  }
  if (state.job_count == kJobsMax) {
    return;
  }
  for (int rank = jobs.empty() ? rank_count() - 1 : jobs.back(); rank >= 0; --rank) {
    jobs.push_back(rank);
    fill(jobs, with(state, rank), partitions);
    jobs.pop_back();
  }
}

AdmissionState AdmissionTable::with(AdmissionState state, int rank) {
  return {.key = state.key + (std::uint32_t{1} << static_cast<unsigned>(kBitsPerRank * rank)),
          .job_count = state.job_count + 1};
}

int AdmissionTable::bound(AdmissionState state) const {
  // Beyond seven jobs the counts overflow into each other; no GPU serves more anyway.
  return state.job_count < kJobsMax ? bound_[state.key] : kFull;
}

}  // namespace septule::sched
