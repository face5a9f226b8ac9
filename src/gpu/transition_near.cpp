#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "gpu/partition_checker.hpp"
#include "gpu/transition.hpp"
#include "gpu/transition_gpu.hpp"

namespace septule::gpu {

namespace {

/// What re-cutting one kept GPU instance costs; compared in this order.
struct ComputeCost {
  int held_in_the_way = 0;
  int changes = 0;  ///< compute instances destroyed or created

  ComputeCost& operator+=(const ComputeCost& other) {
    held_in_the_way += other.held_in_the_way;
    changes += other.changes;
    return *this;
  }
  friend auto operator<=>(const ComputeCost&, const ComputeCost&) = default;
};

/// What a layout costs before compute instances are looked at; compared in this order.
struct LayoutCost {
  int held_in_the_way = 0;
  int destroyed = 0;
  int created = 0;

  friend auto operator<=>(const LayoutCost&, const LayoutCost&) = default;
};

struct ComputeChoice {
  std::vector<ComputeInstance> inside;
  ComputeCost cost;
};

/// Which request stands at which place of a layout, with its compute instances.
struct Assignment {
  Partition partition;
  ComputeCost cost;
};

/// Exact search for the nearest layout. One use.
class NearSearch {
 public:
  NearSearch(const ObservedGpu& gpu, const LayoutRequest& request)
      : gpu_(gpu), geometry_(*gpu.geometry), request_(request) {
    for (const InstanceRequest& wanted : request.instances) {
      wanted_.push_back(wanted.profile);
    }
    std::ranges::sort(wanted_);
  }

  /// Nothing if the request fits no empty GPU.
  std::optional<Partition> run() {
    std::vector<ProfileIndex> profiles = wanted_;
    profiles.erase(std::ranges::unique(profiles).begin(), profiles.end());
    for_each_layout(geometry_, profiles, {}, [&](const Layout& layout, bool /*is_maximal*/) {
      consider(layout);
    });
    if (!best_.has_value()) {
      return std::nullopt;
    }
    return std::move(best_->partition);
  }

 private:
  void consider(const Layout& layout) {
    if (layout.size() != wanted_.size()) {
      return;
    }
    std::vector<ProfileIndex> profiles;
    profiles.reserve(layout.size());
    for (const PlacedProfile& placed : layout) {
      profiles.push_back(placed.profile);
    }
    std::ranges::sort(profiles);
    if (profiles != wanted_) {
      return;
    }
    const LayoutCost cost = cost_of(layout);
    if (best_.has_value() && cost > best_cost_) {
      return;
    }
    std::optional<Assignment> assignment = assign(layout);
    if (!assignment.has_value()) {
      return;
    }
    // Layouts come in canonical order, so that the first of equal ones stays.
    if (!best_.has_value() || cost < best_cost_ || assignment->cost < best_->cost) {
      best_ = std::move(assignment);
      best_cost_ = cost;
    }
  }

  const ObservedInstance* observed_at(const PlacedProfile& placed) const {
    const auto found = std::ranges::find(gpu_.instances, placed, &ObservedInstance::placed);
    return found == gpu_.instances.end() ? nullptr : &*found;
  }

  LayoutCost cost_of(const Layout& layout) const {
    LayoutCost cost;
    LayoutBuilder builder(geometry_);
    for (const PlacedProfile& placed : layout) {
      builder.add(placed);
      cost.created += observed_at(placed) == nullptr ? 1 : 0;
    }
    for (const ObservedInstance& there : gpu_.instances) {
      if (std::ranges::find(layout, there.placed) != layout.end()) {
        continue;
      }
      if (there.effective_hold() == Hold::kIdle) {
        cost.destroyed += 1;
      } else if (!builder.can_add(there.placed)) {
        cost.held_in_the_way += 1;
      }
    }
    return cost;
  }

  /// Hands the places to the requests: given starts first, the others so that the compute instances
  /// change least. Nothing if a given start is not in the layout, or compute instances do not fit.
  std::optional<Assignment> assign(const Layout& layout) {
    std::vector<std::optional<std::size_t>> request_at(layout.size());
    for (std::size_t r = 0; r < request_.instances.size(); ++r) {
      const InstanceRequest& wanted = request_.instances[r];
      if (!wanted.start.has_value()) {
        continue;
      }
      const auto found = std::ranges::find(
          layout, PlacedProfile{.profile = wanted.profile, .start = *wanted.start});
      const auto place = static_cast<std::size_t>(found - layout.begin());
      if (found == layout.end() || request_at[place].has_value()) {
        return std::nullopt;
      }
      request_at[place] = r;
    }
    Assignment assignment;
    assignment.partition.instances.resize(layout.size());
    for (std::size_t place = 0; place < layout.size(); ++place) {
      assignment.partition.instances[place].placed = layout[place];
      const std::optional<std::size_t> given = request_at[place];
      if (given.has_value() && !settle(request_.instances[*given], place, assignment)) {
        return std::nullopt;
      }
    }
    for (std::size_t place = 0; place < layout.size(); ++place) {
      const bool is_first_of_profile =
          std::ranges::find(layout, layout[place].profile, &PlacedProfile::profile) ==
          layout.begin() + static_cast<std::ptrdiff_t>(place);
      if (is_first_of_profile &&
          !assign_profile(layout, layout[place].profile, request_at, assignment)) {
        return std::nullopt;
      }
    }
    return assignment;
  }

  /// Gives one place its compute instances.
  bool settle(const InstanceRequest& wanted, std::size_t place, Assignment& assignment) const {
    GpuInstance& instance = assignment.partition.instances[place];
    std::optional<ComputeChoice> choice = compute_choice(wanted, instance.placed);
    if (!choice.has_value()) {
      return false;
    }
    instance.compute_instances = std::move(choice->inside);
    assignment.cost += choice->cost;
    return true;
  }

  /// The cheapest way to hand the requests of one profile without a start to its open places: by
  /// dynamic programming over the sets of places used (at most 2^12 sets: no GPU holds more).
  bool assign_profile(const Layout& layout,
                      ProfileIndex profile,
                      const std::vector<std::optional<std::size_t>>& request_at,
                      Assignment& assignment) const {
    std::vector<std::size_t> places;
    for (std::size_t place = 0; place < layout.size(); ++place) {
      if (layout[place].profile == profile && !request_at[place].has_value()) {
        places.push_back(place);
      }
    }
    std::vector<const InstanceRequest*> requests;
    for (const InstanceRequest& wanted : request_.instances) {
      if (wanted.profile == profile && !wanted.start.has_value()) {
        requests.push_back(&wanted);
      }
    }
    SEPTULE_CHECK(requests.size() == places.size(), "a layout considered answers the request");
    SEPTULE_CHECK(places.size() < 16, "a GPU holds few instances of one profile");
    std::vector<std::vector<ComputeChoice>> choices(requests.size());
    for (std::size_t r = 0; r < requests.size(); ++r) {
      for (const std::size_t place : places) {
        std::optional<ComputeChoice> choice = compute_choice(*requests[r], layout[place]);
        if (!choice.has_value()) {
          return false;
        }
        choices[r].push_back(std::move(*choice));
      }
    }
    const std::vector<std::size_t> chosen = cheapest_assignment(choices);
    for (std::size_t r = 0; r < chosen.size(); ++r) {
      ComputeChoice& choice = choices[r][chosen[r]];
      assignment.partition.instances[places[chosen[r]]].compute_instances =
          std::move(choice.inside);
      assignment.cost += choice.cost;
    }
    return true;
  }

  /// For each row the column it gets; among equal costs the first in lexicographic order.
  static std::vector<std::size_t> cheapest_assignment(
      const std::vector<std::vector<ComputeChoice>>& choices) {
    const std::size_t count = choices.size();
    const std::size_t full = (std::size_t{1} << count) - 1;
    // rest[used]: the least cost of the rows after those that took the columns in `used`.
    std::vector<ComputeCost> rest(full + 1);
    std::vector<std::size_t> next(full + 1);
    for (std::size_t used = full; used-- > 0;) {
      const auto row = static_cast<std::size_t>(std::popcount(used));
      std::optional<ComputeCost> least;
      for (std::size_t column = 0; column < count; ++column) {
        const std::size_t bit = std::size_t{1} << column;
        if ((used & bit) != 0) {
          continue;
        }
        ComputeCost cost = choices[row][column].cost;
        cost += rest[used | bit];
        if (!least.has_value() || cost < *least) {
          least = cost;
          next[used] = column;
        }
      }
      SEPTULE_CHECK(least.has_value(), "a set that is not full leaves a column");
      rest[used] = *least;
    }
    std::vector<std::size_t> chosen;
    for (std::size_t used = 0; used != full; used |= std::size_t{1} << chosen.back()) {
      chosen.push_back(next[used]);
    }
    return chosen;
  }

  /// The compute instances a request gets at a place, as close as possible to those that are there.
  std::optional<ComputeChoice> compute_choice(const InstanceRequest& wanted,
                                              const PlacedProfile& placed) const {
    const ObservedInstance* there = observed_at(placed);
    const ComputeInstance full = full_compute_instance(geometry_, placed.profile);
    std::vector<ObservedComputeInstance> present;
    if (there != nullptr && there->compute_instances.has_value()) {
      present = *there->compute_instances;
    } else if (there != nullptr) {
      present.push_back({.instance = full, .id = std::nullopt, .hold = there->hold, .holder = {}});
    }
    if (!wanted.compute_instances.has_value()) {
      ComputeChoice choice;
      for (const ObservedComputeInstance& inside : present) {
        choice.inside.push_back(inside.instance);
      }
      if (choice.inside.empty()) {
        choice.inside.push_back(full);
        choice.cost.changes = there != nullptr ? 1 : 0;
      }
      std::ranges::sort(choice.inside);
      return choice;
    }
    std::optional<ComputeChoice> best;
    for_each_compute_layout(geometry_,
                            placed.profile,
                            [&](std::span<const ComputeInstance> inside, bool /*is_maximal*/) {
                              if (!answers(inside, *wanted.compute_instances)) {
                                return;
                              }
                              ComputeChoice choice{.inside = {inside.begin(), inside.end()},
                                                   .cost = {}};
                              if (there != nullptr) {
                                choice.cost = compute_cost(choice.inside, present);
                              }
                              if (!best.has_value() || choice.cost < best->cost) {
                                best = std::move(choice);
                              }
                            });
    return best;
  }

  static ComputeCost compute_cost(const std::vector<ComputeInstance>& inside,
                                  const std::vector<ObservedComputeInstance>& present) {
    ComputeCost cost;
    for (const ComputeInstance& wanted : inside) {
      const bool is_there =
          std::ranges::find(present, wanted, &ObservedComputeInstance::instance) != present.end();
      cost.changes += is_there ? 0 : 1;
    }
    for (const ObservedComputeInstance& old : present) {
      if (std::ranges::find(inside, old.instance) != inside.end()) {
        continue;
      }
      if (old.hold == Hold::kIdle) {
        cost.changes += 1;
        continue;
      }
      const bool is_in_the_way = std::ranges::any_of(inside, [&](const ComputeInstance& wanted) {
        return wanted.placement.overlaps(old.instance.placement);
      });
      cost.held_in_the_way += is_in_the_way ? 1 : 0;
    }
    return cost;
  }

  /// Whether the compute instances are exactly those asked for: sizes, and starts where given.
  static bool answers(std::span<const ComputeInstance> inside,
                      const std::vector<InstanceRequest::ComputeRequest>& wanted) {
    if (inside.size() != wanted.size()) {
      return false;
    }
    std::vector<ComputeSlices> sizes;
    std::vector<ComputeSlices> wanted_sizes;
    std::vector<ComputeInstance> given;
    for (const ComputeInstance& instance : inside) {
      sizes.push_back(instance.placement.size);
    }
    for (const InstanceRequest::ComputeRequest& one : wanted) {
      wanted_sizes.push_back(one.size);
      if (one.start.has_value()) {
        given.push_back({.placement = {.start = *one.start, .size = one.size}});
      }
    }
    std::ranges::sort(sizes);
    std::ranges::sort(wanted_sizes);
    std::ranges::sort(given);
    return sizes == wanted_sizes && std::ranges::adjacent_find(given) == given.end() &&
           std::ranges::all_of(given, [&](const ComputeInstance& one) {
             return std::ranges::find(inside, one) != inside.end();
           });
  }

  const ObservedGpu& gpu_;
  const Geometry& geometry_;
  const LayoutRequest& request_;
  std::vector<ProfileIndex> wanted_;  ///< profiles of the request, ascending
  std::optional<Assignment> best_;
  LayoutCost best_cost_;
};

}  // namespace

Result<Partition> place_near(const ObservedGpu& gpu, const LayoutRequest& request) {
  SEPTULE_CHECK(gpu.geometry != nullptr, "an observed GPU has a geometry");
  SEPTULE_TRY_STATUS(check_observed_state(gpu));
  std::optional<Partition> nearest = NearSearch(gpu, request).run();
  if (!nearest.has_value()) {
    SEPTULE_TRY(const Partition on_empty, place_layout_request(*gpu.geometry, request));
    // The GPU instances fit, so it is the compute instances inside them that do not.
    const std::vector<Violation> violations = check_partition(*gpu.geometry, on_empty);
    return Error{.code = ErrorCode::kBlocked,
                 .message = fmt::format("GPU {}: the compute instances asked for do not fit: {}",
                                        gpu.index.value(),
                                        violations.empty() ? partition_text(*gpu.geometry, on_empty)
                                                           : violations.front().message)};
  }
  canonicalise(*nearest);
  SEPTULE_CHECK(check_partition(*gpu.geometry, *nearest).empty(),
                "the nearest placement is a legal partition");
  return std::move(*nearest);
}

}  // namespace septule::gpu
