#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "gpu/geometry.hpp"
#include "gpu/latency.hpp"
#include "sim/study.hpp"

namespace septule::sim {

// How the lists of a study are written. All fail with kInvalidInput, naming the item and what would
// be valid (kNotFound for names, with near ones). Pure; any thread.

inline constexpr int kStudySeedsMax = 10000;
inline constexpr int kStudyClustersMax = 16;
inline constexpr int kStudyGpusMax = 100000;
inline constexpr int kStudyGapsMax = 64;

/// "1-20", "1,4,9", "101-120,7": ascending ranges, each seed once, 0 to 10^9.
Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text);
/// "8xA100-40GB", "8 x A100-40GB,40xH100-80GB-SXM@2.2": clusters that are compared, with the
/// relative speed of their whole GPU.
Result<std::vector<StudyCluster>> parse_clusters(const gpu::Catalogue& catalogue,
                                                 std::string_view text);
/// "60", "5,10,20,60": seconds from 0.001 to 86400.
Result<std::vector<Duration>> parse_gaps(std::string_view text);
/// "nopart,miso"; "all" = every policy.
Result<std::vector<const sched::PolicyVariant*>> parse_policies(std::string_view text);
/// "100,50,14": up to four active thread percentages from 1 to 100.
Result<InlineVector<ActiveThreadPercentage, predict::kLevelsMax>> parse_levels(
    std::string_view text);

}  // namespace septule::sim
