#include "gpu/partition_checker.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::gpu {

namespace {

/// At most so many instances are named in one message; the rest is counted.
constexpr std::size_t kNamedMax = 8;

/// The owners of each slice of a grid: indices in ascending order. Slices before or after the grid
/// are not recorded.
class OwnerGrid {
 public:
  struct Run {
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::vector<std::size_t> owners;
  };

  explicit OwnerGrid(int slice_count)
      : owners_(static_cast<std::size_t>(std::max(slice_count, 0))) {}

  void claim(std::size_t owner, std::int64_t start, std::int64_t size) {
    const std::int64_t end = std::min<std::int64_t>(start + size, std::ssize(owners_));
    for (std::int64_t slice = std::max<std::int64_t>(start, 0); slice < end; ++slice) {
      owners_[static_cast<std::size_t>(slice)].push_back(owner);
    }
  }

  /// Runs of neighbouring slices that the same two or more owners claim.
  std::vector<Run> contested() const {
    std::vector<Run> runs;
    for (std::size_t slice = 0; slice < owners_.size(); ++slice) {
      const auto at = static_cast<std::int64_t>(slice);
      if (owners_[slice].size() < 2) {
        continue;
      }
      if (!runs.empty() && runs.back().last + 1 == at && runs.back().owners == owners_[slice]) {
        runs.back().last = at;
      } else {
        runs.push_back({.first = at, .last = at, .owners = owners_[slice]});
      }
    }
    return runs;
  }

 private:
  std::vector<std::vector<std::size_t>> owners_;
};

std::string range_text(std::string_view unit, std::int64_t first, std::int64_t last) {
  if (first == last) {
    return fmt::format("{} slice {}", unit, first);
  }
  return fmt::format("{} slices {}-{}", unit, first, last);
}

/// "0 or 2 or 4" for the starts of placements.
template <class Placements>
std::string starts_text(const Placements& placements) {
  std::vector<std::string> starts;
  starts.reserve(placements.size());
  for (const auto& placement : placements) {
    starts.push_back(fmt::format("{}", placement.start.value()));
  }
  return fmt::format("{}", fmt::join(starts, " or "));
}

/// Collects the violations of one partition, rule by rule.
class Judge {
 public:
  Judge(const Geometry& geometry, const Partition& partition)
      : geometry_(geometry), instances_(partition.instances) {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (profile_of(i) != nullptr) {
        known_.push_back(i);
      }
    }
  }

  std::vector<Violation> verdict() {
    check_profiles();
    check_placements();
    check_memory_slices();
    check_compute_slices();
    check_profile_maxima();
    check_instance_maximum();
    check_engines();
    check_memory_amount();
    check_multiprocessors();
    for (const std::size_t i : known_) {
      check_compute_instances(i);
    }
    std::ranges::sort(found_, [](const Violation& a, const Violation& b) {
      return std::tie(a.kind, a.instances, a.message) < std::tie(b.kind, b.instances, b.message);
    });
    return std::move(found_);
  }

 private:
  /// The profile of an instance, or null when the geometry has none of that index.
  const GpuInstanceProfile* profile_of(std::size_t i) const {
    const int index = instances_[i].placed.profile.value();
    const auto profiles = geometry_.profiles();
    if (index < 0 || std::cmp_greater_equal(index, profiles.size())) {
      return nullptr;
    }
    return &profiles[static_cast<std::size_t>(index)];
  }

  std::string name(std::size_t i) const {
    const int start = instances_[i].placed.start.value();
    const GpuInstanceProfile* profile = profile_of(i);
    if (profile == nullptr) {
      return fmt::format("profile #{}@{}", instances_[i].placed.profile.value(), start);
    }
    return fmt::format("{}@{}", profile->name, start);
  }

  std::vector<std::string> names(const std::vector<std::size_t>& instances) const {
    std::vector<std::string> texts;
    for (const std::size_t i : instances) {
      if (texts.size() == kNamedMax && instances.size() > kNamedMax + 1) {
        texts.push_back(fmt::format("{} more", instances.size() - kNamedMax));
        break;
      }
      texts.push_back(name(i));
    }
    return texts;
  }

  std::string list(const std::vector<std::size_t>& instances) const {
    return fmt::format("{}", fmt::join(names(instances), ", "));
  }

  void add(ViolationKind kind, std::vector<std::size_t> instances, std::string message) {
    found_.push_back(
        {.kind = kind, .instances = std::move(instances), .message = std::move(message)});
  }

  void check_profiles() {
    for (std::size_t i = 0; i < instances_.size(); ++i) {
      if (profile_of(i) != nullptr) {
        continue;
      }
      const int index = instances_[i].placed.profile.value();
      std::string message =
          geometry_.has_profile_table()
              ? fmt::format("{} has no profile of index {}; valid are 0 to {}",
                            geometry_.key(),
                            index,
                            geometry_.profiles().size() - 1)
              : fmt::format("{} has no published profile table, so no instance can be judged",
                            geometry_.key());
      add(ViolationKind::kUnknownProfile, {i}, std::move(message));
    }
  }

  void check_placements() {
    for (const std::size_t i : known_) {
      const GpuInstanceProfile& profile = *profile_of(i);
      const auto is_here = [&](const Placement& placement) {
        return placement.start == instances_[i].placed.start;
      };
      if (std::ranges::none_of(profile.placements, is_here)) {
        add(ViolationKind::kPlacement,
            {i},
            fmt::format(
                "{} is not a possible placement: on {} a {} can start only at memory slice {}",
                name(i),
                geometry_.key(),
                profile.name,
                starts_text(profile.placements)));
      }
    }
  }

  /// Memory slices of the grid; where the figure is not published, up to the end of the last
  /// placement that the table lists.
  int grid_size() const {
    if (geometry_.facts().memory_slices.has_value()) {
      return geometry_.memory_slices().value();
    }
    int end = 0;
    for (const GpuInstanceProfile& profile : geometry_.profiles()) {
      for (const Placement& placement : profile.placements) {
        end = std::max(end, placement.end().value());
      }
    }
    return end;
  }

  void check_memory_slices() {
    const int grid = grid_size();
    OwnerGrid owners(grid);
    for (const std::size_t i : known_) {
      const std::int64_t start = instances_[i].placed.start.value();
      const std::int64_t size = profile_of(i)->size().value();
      if (start < 0 || start + size > grid) {
        add(ViolationKind::kMemorySlices,
            {i},
            fmt::format("{} needs {}; {} has {}",
                        name(i),
                        range_text("memory", start, start + size - 1),
                        geometry_.key(),
                        range_text("memory", 0, grid - 1)));
      }
      owners.claim(i, start, size);
    }
    for (OwnerGrid::Run& run : owners.contested()) {
      std::string message = fmt::format("{} {} need {}",
                                        joined_with_and(names(run.owners)),
                                        run.owners.size() == 2 ? "both" : "all",
                                        range_text("memory", run.first, run.last));
      add(ViolationKind::kMemorySlices, std::move(run.owners), std::move(message));
    }
  }

  void check_compute_slices() {
    std::int64_t needed = 0;
    for (const std::size_t i : known_) {
      needed += profile_of(i)->slices.value();
    }
    const auto there = geometry_.facts().compute_slices;
    if (there.has_value() && needed > there->value()) {
      add(ViolationKind::kComputeSlices,
          known_,
          fmt::format("{} has {} compute slices; the layout needs {} ({})",
                      geometry_.key(),
                      there->value(),
                      needed,
                      list(known_)));
    }
  }

  void check_profile_maxima() {
    std::vector<std::vector<std::size_t>> of_profile(geometry_.profiles().size());
    for (const std::size_t i : known_) {
      of_profile[static_cast<std::size_t>(instances_[i].placed.profile.value())].push_back(i);
    }
    for (std::size_t p = 0; p < of_profile.size(); ++p) {
      const GpuInstanceProfile& profile = geometry_.profiles()[p];
      if (std::cmp_greater(of_profile[p].size(), profile.instances_max)) {
        std::string message = fmt::format("{} instances of {} ({}); {} allows at most {}",
                                          of_profile[p].size(),
                                          profile.name,
                                          list(of_profile[p]),
                                          geometry_.key(),
                                          profile.instances_max);
        add(ViolationKind::kProfileMaximum, std::move(of_profile[p]), std::move(message));
      }
    }
  }

  /// Where the table allows more of one profile than the whole GPU is said to hold, one of the two
  /// published figures is wrong and nothing is known.
  void check_instance_maximum() {
    const auto instances_max = geometry_.facts().instances_max;
    const bool is_contradicted = std::ranges::any_of(
        geometry_.profiles(),
        [&](const GpuInstanceProfile& profile) { return profile.instances_max > instances_max; });
    if (!instances_max.has_value() || is_contradicted) {
      return;
    }
    if (std::cmp_greater(known_.size(), *instances_max)) {
      add(ViolationKind::kInstanceMaximum,
          known_,
          fmt::format("{} holds at most {} GPU instances; the layout has {} ({})",
                      geometry_.key(),
                      *instances_max,
                      known_.size(),
                      list(known_)));
    }
  }

  struct Need {
    std::uint64_t total = 0;
    std::vector<std::size_t> users;  ///< instances that need any
  };
  /// Sums a figure of the profiles (optional<integer>) over the instances that publish it.
  template <class Figure>
  Need need_of(const Figure& figure) const {
    Need need;
    for (const std::size_t i : known_) {
      const auto own = figure(*profile_of(i));
      if (own.has_value() && *own > 0) {
        need.total += static_cast<std::uint64_t>(*own);
        need.users.push_back(i);
      }
    }
    return need;
  }

  void check_engines() {
    for (std::size_t e = 0; e < kEngineCount; ++e) {
      const std::optional<int> there = geometry_.engine_budget()[e];
      Need need = need_of([&](const GpuInstanceProfile& profile) { return profile.engines[e]; });
      if (there.has_value() && std::cmp_greater(need.total, *there)) {
        std::string message = fmt::format("{} engines: {} needed, {} there ({})",
                                          engine_name(static_cast<Engine>(e)),
                                          need.total,
                                          *there,
                                          list(need.users));
        add(ViolationKind::kEngineBudget, std::move(need.users), std::move(message));
      }
    }
  }

  /// The memory of one instance with every driver that has been seen; empty if not published.
  static std::vector<std::uint64_t> memory_figures(const GpuInstanceProfile& profile) {
    std::vector<std::uint64_t> figures;
    if (profile.memory.has_value()) {
      figures.push_back(profile.memory->value());
      for (const Bytes other : profile.memory_other_drivers) {
        figures.push_back(other.value());
      }
    }
    return figures;
  }

  /// Figures of several drivers must not be mixed into a false alarm, so the least of each instance
  /// is held against the most of the whole GPU.
  void check_memory_amount() {
    std::optional<std::uint64_t> whole;
    for (const GpuInstanceProfile& profile : geometry_.profiles()) {
      if (profile.slices == geometry_.facts().compute_slices) {
        for (const std::uint64_t figure : memory_figures(profile)) {
          whole = std::max(whole.value_or(0), figure);
        }
      }
    }
    Need need = need_of([](const GpuInstanceProfile& profile) {
      const std::vector<std::uint64_t> figures = memory_figures(profile);
      return figures.empty() ? std::nullopt : std::optional(*std::ranges::min_element(figures));
    });
    if (whole.has_value() && need.total > *whole) {
      std::string message = fmt::format("memory: {} MiB needed, {} MiB there ({})",
                                        Bytes(need.total).whole_mebibytes(),
                                        Bytes(*whole).whole_mebibytes(),
                                        list(need.users));
      add(ViolationKind::kMemoryAmount, std::move(need.users), std::move(message));
    }
  }

  void check_multiprocessors() {
    Need need = need_of([](const GpuInstanceProfile& profile) { return profile.sm_count; });
    const auto there = geometry_.facts().sm_with_mig;
    if (there.has_value() && std::cmp_greater(need.total, *there)) {
      std::string message = fmt::format("streaming multiprocessors: {} needed, {} there ({})",
                                        need.total,
                                        *there,
                                        list(need.users));
      add(ViolationKind::kStreamingMultiprocessors, std::move(need.users), std::move(message));
    }
  }

  static std::string text(const ComputeInstance& instance) {
    return fmt::format("{}c@{}", instance.placement.size.value(), instance.placement.start.value());
  }

  void check_compute_instances(std::size_t i) {
    const auto& inside = instances_[i].compute_instances;
    const auto table = geometry_.compute_profiles(instances_[i].placed.profile);
    for (const ComputeInstance& instance : inside) {
      check_compute_placement(i, instance, table);
    }
    for (const ComputeInstanceProfile& row : table) {
      const auto count = std::ranges::count_if(inside, [&](const ComputeInstance& instance) {
        return instance.placement.size == row.slices;
      });
      if (count > row.instances_max) {
        add(ViolationKind::kProfileMaximum,
            {i},
            fmt::format("{} holds {} compute instances of {} compute slices; it allows at most {}",
                        name(i),
                        count,
                        row.slices.value(),
                        row.instances_max));
      }
    }
    check_compute_room(i);
  }

  void check_compute_placement(std::size_t i,
                               const ComputeInstance& instance,
                               std::span<const ComputeInstanceProfile> table) {
    const auto row = std::ranges::find(
        table, instance.placement.size, [](const ComputeInstanceProfile& r) { return r.slices; });
    if (row == table.end()) {
      std::vector<std::string> sizes;
      for (const ComputeInstanceProfile& r : table) {
        sizes.push_back(fmt::format("{}c", r.slices.value()));
      }
      add(ViolationKind::kComputeInstance,
          {i},
          fmt::format(
              "{} in {} is not a compute-instance profile; {}",
              text(instance),
              name(i),
              sizes.empty() ? "none are known for it" : "possible are " + joined_with_and(sizes)));
      return;
    }
    if (std::ranges::find(row->placements, instance.placement) == row->placements.end()) {
      add(ViolationKind::kComputeInstance,
          {i},
          fmt::format("{} in {} is not a possible placement: a {}c can start at compute slice {}",
                      text(instance),
                      name(i),
                      row->slices.value(),
                      starts_text(row->placements)));
    }
  }

  void check_compute_room(std::size_t i) {
    const auto& inside = instances_[i].compute_instances;
    const int slices = profile_of(i)->slices.value();
    OwnerGrid owners(slices);
    std::int64_t needed = 0;
    for (std::size_t c = 0; c < inside.size(); ++c) {
      owners.claim(c, inside[c].placement.start.value(), inside[c].placement.size.value());
      needed += inside[c].placement.size.value();
    }
    for (const OwnerGrid::Run& run : owners.contested()) {
      std::vector<std::string> texts;
      for (const std::size_t c : run.owners) {
        if (texts.size() == kNamedMax) {
          texts.push_back(fmt::format("{} more", run.owners.size() - kNamedMax));
          break;
        }
        texts.push_back(text(inside[c]));
      }
      add(ViolationKind::kComputeSlices,
          {i},
          fmt::format("{} in {} {} need {}",
                      joined_with_and(texts),
                      name(i),
                      run.owners.size() == 2 ? "both" : "all",
                      range_text("compute", run.first, run.last)));
    }
    if (needed > slices) {
      add(ViolationKind::kComputeSlices,
          {i},
          fmt::format(
              "{} has {} compute slices; its compute instances need {}", name(i), slices, needed));
    }
  }

  const Geometry& geometry_;
  const std::vector<GpuInstance>& instances_;
  std::vector<std::size_t> known_;  ///< instances whose profile the geometry has
  std::vector<Violation> found_;
};

}  // namespace

std::string_view violation_name(ViolationKind kind) {
  switch (kind) {
    case ViolationKind::kUnknownProfile:
      return "unknown-profile";
    case ViolationKind::kPlacement:
      return "placement";
    case ViolationKind::kMemorySlices:
      return "memory-slices";
    case ViolationKind::kComputeSlices:
      return "compute-slices";
    case ViolationKind::kProfileMaximum:
      return "profile-maximum";
    case ViolationKind::kInstanceMaximum:
      return "instance-maximum";
    case ViolationKind::kEngineBudget:
      return "engine-budget";
    case ViolationKind::kMemoryAmount:
      return "memory-amount";
    case ViolationKind::kStreamingMultiprocessors:
      return "streaming-multiprocessors";
    case ViolationKind::kComputeInstance:
      return "compute-instance";
  }
  SEPTULE_CHECK(false, "every ViolationKind has a name");
}

std::vector<Violation> check_partition(const Geometry& geometry, const Partition& partition) {
  return Judge(geometry, partition).verdict();
}

}  // namespace septule::gpu
