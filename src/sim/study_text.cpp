#include "sim/study_text.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::sim {

namespace {

constexpr std::int64_t kSeedMax = 1000000000;
constexpr double kGapMinS = 0.001;
constexpr double kGapMaxS = 86400;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidInput, std::move(message)};
}

struct SeedRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

Result<SeedRange> parse_seed_range(std::string_view item) {
  const std::size_t dash = item.find('-', 1);
  const auto first = parse_integer(trimmed(item.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : parse_integer(trimmed(item.substr(dash + 1)));
  if (!first || !last || *first < 0 || *last > kSeedMax) {
    return invalid(
        fmt::format("{} is no seed or range of seeds; expected whole numbers from 0 to "
                    "{}, as in 1-20 or 1,4,9",
                    quoted_for_message(item),
                    kSeedMax));
  }
  if (*last < *first) {
    return invalid(fmt::format("{} descends; expected the smaller seed first", item));
  }
  return SeedRange{*first, *last};
}

/// "@2.2" off the end of a cluster; 1 without.
Result<double> parse_speed(std::string_view item) {
  const std::size_t at = item.find('@');
  if (at == std::string_view::npos) {
    return 1.0;
  }
  const auto speed = parse_number(trimmed(item.substr(at + 1)));
  if (!speed || *speed < kStudySpeedMin || *speed > kStudySpeedMax) {
    return invalid(
        fmt::format("{} has no relative speed behind its @; expected a number from {} to "
                    "{}, as in 8xH100-80GB-SXM@2.2",
                    quoted_for_message(item),
                    kStudySpeedMin,
                    kStudySpeedMax));
  }
  return *speed;
}

Result<StudyCluster> parse_cluster(const gpu::Catalogue& catalogue, std::string_view item) {
  SEPTULE_TRY(const double speed, parse_speed(item));
  const std::string_view text = trimmed(item.substr(0, item.find('@')));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view rest = trimmed(text.substr(digits));
  const bool has_count =
      digits > 0 && rest.size() > 1 && (rest.front() == 'x' || rest.front() == '*');
  if ((digits > 0 && !has_count) || text.find('+') != std::string_view::npos) {
    return invalid(
        fmt::format("{} is no cluster; expected COUNTxMODEL, several separated by commas; "
                    "one cluster has one model",
                    quoted_for_message(item)));
  }
  const auto count =
      has_count ? parse_integer(text.substr(0, digits)) : std::optional(std::int64_t{1});
  if (!count || *count < 1 || *count > kStudyGpusMax) {
    return invalid(
        fmt::format("{} has a count out of range; expected 1 to {} GPUs, as in "
                    "8xA100-40GB",
                    quoted_for_message(item),
                    kStudyGpusMax));
  }
  SEPTULE_TRY(const gpu::Geometry* geometry,
              catalogue.find(has_count ? trimmed(rest.substr(1)) : text));
  return StudyCluster{geometry, static_cast<int>(*count), speed};
}

}  // namespace

Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
  std::vector<std::uint64_t> seeds;
  std::set<std::int64_t> seen;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    SEPTULE_TRY(const SeedRange range, parse_seed_range(item));
    if (range.last - range.first >= kStudySeedsMax - static_cast<std::int64_t>(seeds.size())) {
      return invalid(fmt::format("names more than {} seeds", kStudySeedsMax));
    }
    for (std::int64_t seed = range.first; seed <= range.last; ++seed) {
      if (!seen.insert(seed).second) {
        return invalid(fmt::format("names seed {} twice", seed));
      }
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  }
  return seeds;
}

Result<std::vector<StudyCluster>> parse_clusters(const gpu::Catalogue& catalogue,
                                                 std::string_view text) {
  std::vector<StudyCluster> clusters;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    SEPTULE_TRY(const StudyCluster cluster, parse_cluster(catalogue, item));
    clusters.push_back(cluster);
    if (clusters.size() > kStudyClustersMax) {
      return invalid(fmt::format("names more than {} clusters", kStudyClustersMax));
    }
  }
  return clusters;
}

Result<std::vector<Duration>> parse_gaps(std::string_view text) {
  std::vector<Duration> gaps;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    const auto seconds = parse_number(item);
    if (!seconds || *seconds < kGapMinS || *seconds > kGapMaxS) {
      return invalid(fmt::format("{} is no gap; expected seconds from {} to {}",
                                 quoted_for_message(item),
                                 kGapMinS,
                                 kGapMaxS));
    }
    gaps.push_back(seconds_to_duration(*seconds));
    if (gaps.size() > kStudyGapsMax) {
      return invalid(fmt::format("names more than {} gaps", kStudyGapsMax));
    }
  }
  return gaps;
}

Result<std::vector<const sched::PolicyVariant*>> parse_policies(std::string_view text) {
  std::vector<const sched::PolicyVariant*> policies;
  if (trimmed(text) == "all") {
    for (const sched::PolicyVariant& variant : sched::policy_variants()) {
      policies.push_back(&variant);
    }
    return policies;
  }
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    SEPTULE_TRY(const sched::PolicyVariant* policy, sched::find_policy(item));
    if (std::ranges::find(policies, policy) != policies.end()) {
      return invalid(fmt::format("names policy {} twice", item));
    }
    policies.push_back(policy);
  }
  return policies;
}

Result<InlineVector<ActiveThreadPercentage, predict::kLevelsMax>> parse_levels(
    std::string_view text) {
  InlineVector<ActiveThreadPercentage, predict::kLevelsMax> levels;
  for (const std::string_view item : split_outside_brackets(text, ',')) {
    const auto level = parse_integer(item);
    if (!level || *level < 1 || *level > 100 || levels.size() == predict::kLevelsMax) {
      return invalid(
          fmt::format("{} is not one of up to {} active thread percentages; expected "
                      "whole numbers from 1 to 100",
                      quoted_for_message(item),
                      predict::kLevelsMax));
    }
    levels.push_back(ActiveThreadPercentage(static_cast<int>(*level)));
  }
  return levels;
}

}  // namespace septule::sim
