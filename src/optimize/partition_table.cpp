#include "optimize/partition_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "plan/job_speeds.hpp"

namespace septule::optimize {

namespace {

constexpr double kUnitsPerOne = 1e9;
// What a job is worth on a profile on which it does not fit. Seven of them do not overflow, and one
// outweighs all that seven jobs can be worth (7e15 units of slowdown).
constexpr std::int64_t kNever = -1'000'000'000'000'000'000;
constexpr std::int64_t kFeasibleMin = kNever / 2;

bool has_four_beside_three(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  const auto has = [&](int slices) {
    return std::ranges::any_of(layout, [&](const gpu::PlacedProfile& placed) {
      return geometry.profile(placed.profile).slices == ComputeSlices(slices);
    });
  };
  return has(4) && has(3);
}

/// By size from large to small.
std::vector<ProfileIndex> profiles_of(const gpu::Geometry& geometry, const gpu::Layout& layout) {
  std::vector<ProfileIndex> profiles;
  for (const gpu::PlacedProfile& placed : layout) {
    profiles.push_back(placed.profile);
  }
  std::ranges::sort(profiles, [&](ProfileIndex a, ProfileIndex b) {
    const auto key = [&](ProfileIndex p) { return std::pair(geometry.profile(p).slices, p); };
    return key(a) > key(b);
  });
  return profiles;
}

/// The order of codes; see the header.
struct CodeOrder {
  const gpu::Geometry* geometry;

  bool operator()(const std::vector<ProfileIndex>& a, const std::vector<ProfileIndex>& b) const {
    const auto slices = [this](const std::vector<ProfileIndex>& profiles) {
      std::vector<ComputeSlices> list;
      for (const ProfileIndex profile : profiles) {
        list.push_back(geometry->profile(profile).slices);
      }
      return list;
    };
    const auto total = [](const std::vector<ComputeSlices>& list) {
      ComputeSlices sum;
      for (const ComputeSlices one : list) {
        sum += one;
      }
      return sum;
    };
    const std::vector<ComputeSlices> of_a = slices(a);
    const std::vector<ComputeSlices> of_b = slices(b);
    if (of_a.front() != of_b.front()) {
      return of_a.front() > of_b.front();
    }
    if (total(of_a) != total(of_b)) {
      return total(of_a) < total(of_b);
    }
    return of_a > of_b;
  }
};

std::int64_t units_of(double speed, plan::ObjectiveKind objective) {
  if (!(speed >= plan::kSpeedMin)) {  // also what is not a number
    return kNever;
  }
  const double bounded = std::min(speed, plan::kSpeedMax);
  return objective == plan::ObjectiveKind::kMeanSlowdown ? -std::llround(kUnitsPerOne / bounded)
                                                         : std::llround(kUnitsPerOne * bounded);
}

}  // namespace

PartitionTable PartitionTable::paper(const gpu::Geometry& geometry) {
  PartitionTable table;
  if (!geometry.has_profile_table()) {
    return table;
  }
  std::map<std::vector<ProfileIndex>, std::vector<gpu::Layout>, CodeOrder> by_code(
      CodeOrder{&geometry});
  for (const gpu::Layout& layout : gpu::maximal_layouts(geometry, gpu::ProfileSet::kPlain)) {
    if (layout.empty() || layout.size() > static_cast<std::size_t>(kAssignedJobsMax) ||
        has_four_beside_three(geometry, layout)) {
      continue;
    }
    by_code[profiles_of(geometry, layout)].push_back(layout);
  }
  for (const auto& [profiles, layouts] : by_code) {
    table.add_code(geometry, layouts);
  }
  table.add_assignments();
  return table;
}

void PartitionTable::add_code(const gpu::Geometry& geometry,
                              const std::vector<gpu::Layout>& layouts) {
  Code code;
  code.profiles = profiles_of(geometry, layouts.front());
  code.layout_begin = layouts_.size();
  for (const gpu::Layout& layout : layouts) {
    Instances& instances = layouts_.emplace_back();
    for (const gpu::PlacedProfile& placed : layout) {
      instances.push_back(placed);
    }
  }
  code.layout_end = layouts_.size();
  for (const ProfileIndex profile : code.profiles) {
    if (std::ranges::find(profiles_, profile) == profiles_.end()) {
      profiles_.push_back(profile);
    }
  }
  codes_.push_back(std::move(code));
}

void PartitionTable::add_assignments() {
  for (std::size_t code = 0; code < codes_.size(); ++code) {
    // Permutations of positions in the list from large to small; equal profiles have one position,
    // so that each way to share them out comes once, and larger profiles for early jobs first.
    const std::vector<ProfileIndex>& profiles = codes_[code].profiles;
    std::vector<std::size_t> order;
    for (const ProfileIndex profile : profiles) {
      order.push_back(
          static_cast<std::size_t>(std::ranges::find(profiles, profile) - profiles.begin()));
    }
    do {
      Assignment assignment;
      assignment.code = static_cast<int>(code);
      for (std::size_t job = 0; job < order.size(); ++job) {
        assignment.profile[job] = static_cast<std::uint8_t>(profiles[order[job]].value());
      }
      assignments_[order.size() - 1].push_back(assignment);
    } while (std::ranges::next_permutation(order).found);
  }
}

std::span<const ProfileIndex> PartitionTable::profiles(int code) const {
  return codes_[static_cast<std::size_t>(code)].profiles;
}

std::size_t PartitionTable::assignment_count(int job_count) const {
  const bool is_known = job_count >= 1 && job_count <= kAssignedJobsMax;
  return is_known ? assignments_[static_cast<std::size_t>(job_count) - 1].size() : 0;
}

void PartitionTable::fill_units(const PartitionQuestion& question, Units& units) const {
  for (std::size_t job = 0; job < question.jobs.size(); ++job) {
    for (const ProfileIndex profile : profiles_) {
      units[job][static_cast<std::size_t>(profile.value())] =
          units_of(question.jobs[job]->on(profile), question.objective);
    }
  }
}

PartitionTable::Worth PartitionTable::worth_of(const Assignment& assignment,
                                               const Units& units,
                                               std::size_t job_count,
                                               plan::ObjectiveKind objective) {
  std::int64_t sum = 0;
  std::int64_t least = INT64_MAX;
  for (std::size_t job = 0; job < job_count; ++job) {
    const std::int64_t worth = units[job][assignment.profile[job]];
    sum += worth;
    least = std::min(least, worth);
  }
  if (objective == plan::ObjectiveKind::kMaxMin) {
    return {.first = least, .second = sum};
  }
  return {.first = sum, .second = 0};
}

PartitionTable::Placing PartitionTable::best_placing(const Assignment& assignment,
                                                     const PartitionQuestion& question) const {
  const Code& code = codes_[static_cast<std::size_t>(assignment.code)];
  Placing best{.layout = &layouts_[code.layout_begin], .kept = -1};
  const std::size_t placed_count = std::min(question.current.size(), question.jobs.size());
  for (std::size_t at = code.layout_begin; at < code.layout_end; ++at) {
    int kept = 0;
    for (std::size_t job = 0; job < placed_count; ++job) {
      const std::optional<gpu::PlacedProfile>& now = question.current[job];
      if (now.has_value() && now->profile.value() == assignment.profile[job] &&
          std::ranges::find(layouts_[at], *now) != layouts_[at].end()) {
        ++kept;
      }
    }
    if (kept > best.kept) {
      best = {.layout = &layouts_[at], .kept = kept};
    }
  }
  return best;
}

void PartitionTable::place(const Assignment& assignment,
                           const Instances& layout,
                           const PartitionQuestion& question,
                           PartitionAnswer& answer) {
  answer.instances = layout;
  std::array<bool, kAssignedJobsMax> is_taken{};
  constexpr int kNowhere = -1;
  answer.moved = 0;
  for (std::size_t job = 0; job < question.jobs.size(); ++job) {
    answer.instance_of[job] = kNowhere;
    if (job >= question.current.size() || !question.current[job].has_value()) {
      continue;
    }
    const gpu::PlacedProfile now =
        checked_value(question.current[job], "the job has a current place");
    const auto* found = std::ranges::find(layout, now);
    const auto at = static_cast<std::size_t>(found - layout.begin());
    if (now.profile.value() != assignment.profile[job] || found == layout.end() || is_taken[at]) {
      ++answer.moved;
      continue;
    }
    answer.instance_of[job] = static_cast<int>(at);
    is_taken[at] = true;
  }
  for (std::size_t job = 0; job < question.jobs.size(); ++job) {
    for (std::size_t at = 0; at < layout.size() && answer.instance_of[job] == kNowhere; ++at) {
      if (!is_taken[at] && layout[at].profile.value() == assignment.profile[job]) {
        answer.instance_of[job] = static_cast<int>(at);
        is_taken[at] = true;
      }
    }
    SEPTULE_CHECK(answer.instance_of[job] != kNowhere, "an assignment uses its layout's profiles");
  }
}

void PartitionTable::solve(const PartitionQuestion& question, PartitionAnswer& answer) const {
  answer.is_feasible = false;
  const std::size_t job_count = question.jobs.size();
  if (job_count == 0 || job_count > static_cast<std::size_t>(kAssignedJobsMax)) {
    return;
  }
  Units units;  // only the cells of profiles_ are written and read
  fill_units(question, units);
  const std::vector<Assignment>& assignments = assignments_[job_count - 1];
  Worth best{.first = kFeasibleMin, .second = INT64_MIN};
  std::size_t best_at = assignments.size();
  int tie_count = 0;
  for (std::size_t at = 0; at < assignments.size(); ++at) {
    const Worth worth = worth_of(assignments[at], units, job_count, question.objective);
    if (worth > best) {
      best = worth;
      best_at = at;
      tie_count = 1;
    } else if (worth == best) {
      ++tie_count;
    }
  }
  if (best_at == assignments.size()) {
    return;
  }
  Placing placing = best_placing(assignments[best_at], question);
  for (std::size_t at = best_at + 1; tie_count > 1 && at < assignments.size(); ++at) {
    if (worth_of(assignments[at], units, job_count, question.objective) != best) {
      continue;
    }
    const Placing other = best_placing(assignments[at], question);
    if (other.kept > placing.kept) {
      placing = other;
      best_at = at;
    }
  }
  answer.is_feasible = true;
  answer.code = assignments[best_at].code;
  const double sum = static_cast<double>(best.first) / kUnitsPerOne;
  answer.objective = question.objective == plan::ObjectiveKind::kMeanSlowdown
                         ? -sum / static_cast<double>(job_count)
                         : sum;
  place(assignments[best_at], *placing.layout, question, answer);
}

}  // namespace septule::optimize
