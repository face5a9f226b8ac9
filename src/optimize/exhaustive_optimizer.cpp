#include "optimize/exhaustive_optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <tuple>

namespace septule::optimize {
namespace {

using plan::ObjectiveKind;

std::int64_t units(double value) {
  return std::llround(value * 1e9);
}

/// Lives for one call of find_best_exhaustively.
class Exhaustion {
 public:
  Exhaustion(const gpu::Geometry& geometry,
             const SliceAssigner::Options& options,
             const SpeedMatrix& jobs,
             ObjectiveKind objective)
      : geometry_(geometry), options_(options), jobs_(jobs), objective_(objective) {}

  ExhaustiveAnswer run() {
    gpu::Layout fixed;
    for (const CurrentInstance& instance : options_.current) {
      if (instance.use != InstanceUse::kReusable) {
        fixed.push_back(instance.placed);
      }
    }
    gpu::canonicalise(fixed);
    // Reusable instances may have profiles outside the set; new ones may not (see is_possible).
    std::vector<ProfileIndex> profiles = geometry_.profiles_in(options_.profiles);
    for (const CurrentInstance& instance : options_.current) {
      if (std::ranges::find(profiles, instance.placed.profile) == profiles.end()) {
        profiles.push_back(instance.placed.profile);
      }
    }
    std::ranges::sort(profiles);
    gpu::for_each_layout(geometry_, profiles, fixed, [this](const gpu::Layout& layout, bool) {
      try_layout(layout);
    });
    answer_.is_feasible = has_answer_;
    return answer_;
  }

 private:
  /// An instance of the layout being tried, with the current one it is, if any.
  struct Seat {
    gpu::PlacedProfile placed;
    std::optional<int> current;
    bool is_taken = false;
  };

  std::optional<int> current_index(const gpu::PlacedProfile& placed) const {
    for (std::size_t i = 0; i < options_.current.size(); ++i) {
      if (options_.current[i].placed == placed) {
        return static_cast<int>(i);
      }
    }
    return std::nullopt;
  }

  const CurrentInstance& current(int index) const {
    return options_.current[static_cast<std::size_t>(index)];
  }

  bool is_possible(const gpu::Layout& layout) const {
    const std::vector<ProfileIndex> set = geometry_.profiles_in(options_.profiles);
    bool has_new_of[8] = {};
    bool has_old_of[8] = {};
    for (const gpu::PlacedProfile& placed : layout) {
      const bool is_old = current_index(placed).has_value();
      if (!is_old && std::ranges::find(set, placed.profile) == set.end()) {
        return false;
      }
      const int slices = std::min(geometry_.profile(placed.profile).slices.value(), 7);
      (is_old ? has_old_of : has_new_of)[slices] = true;
    }
    if (options_.rule == LayoutRule::kEveryLayout || (has_old_of[4] && has_old_of[3])) {
      return true;
    }
    return !((has_new_of[4] || has_old_of[4]) && (has_new_of[3] || has_old_of[3]));
  }

  void try_layout(const gpu::Layout& layout) {
    if (!is_possible(layout)) {
      return;
    }
    seats_.clear();
    created_ = 0;
    for (const gpu::PlacedProfile& placed : layout) {
      const std::optional<int> index = current_index(placed);
      seats_.push_back({.placed = placed, .current = index, .is_taken = false});
      created_ += index.has_value() ? 0 : 1;
    }
    const auto kept = static_cast<int>(layout.size()) - created_;
    destroyed_ = static_cast<int>(options_.current.size()) - kept;
    chosen_.assign(static_cast<std::size_t>(jobs_.job_count()), 0);
    place(0);
  }

  std::optional<int> home_of(int job) const {
    for (std::size_t i = 0; i < options_.current.size(); ++i) {
      if (options_.current[i].job == job) {
        return static_cast<int>(i);
      }
    }
    return std::nullopt;
  }

  bool may_sit(int job, const Seat& seat) const {
    if (seat.is_taken || jobs_.speed(job, seat.placed.profile) == 0.0) {
      return false;
    }
    const std::optional<int> home = home_of(job);
    if (home.has_value() && current(*home).use == InstanceUse::kPinned) {
      return seat.current == home;
    }
    return !seat.current.has_value() || current(*seat.current).use == InstanceUse::kHost ||
           current(*seat.current).use == InstanceUse::kReusable;
  }

  void place(int job) {
    if (job == jobs_.job_count()) {
      judge();
      return;
    }
    for (std::size_t s = 0; s < seats_.size(); ++s) {
      if (may_sit(job, seats_[s])) {
        seats_[s].is_taken = true;
        chosen_[static_cast<std::size_t>(job)] = s;
        place(job + 1);
        seats_[s].is_taken = false;
      }
    }
  }

  void judge() {
    ++answer_.assignments_seen;
    std::int64_t sum = 0;
    std::int64_t lowest = INT64_MAX;
    int moved = 0;
    for (int job = 0; job < jobs_.job_count(); ++job) {
      const Seat& seat = seats_[chosen_[static_cast<std::size_t>(job)]];
      const double speed = jobs_.speed(job, seat.placed.profile);
      const std::int64_t value = objective_ == ObjectiveKind::kMeanSlowdown ? -units(1.0 / speed)
                                 : objective_ == ObjectiveKind::kWeightedSum
                                     ? units(speed * jobs_.weight(job))
                                     : units(speed);
      sum += value;
      lowest = std::min(lowest, value);
      const std::optional<int> home = home_of(job);
      moved += home.has_value() && seat.current != home ? 1 : 0;
    }
    const std::int64_t count = objective_ == ObjectiveKind::kMeanSlowdown ? jobs_.job_count() : 1;
    const std::int64_t cost =
        count * (created_ * units(options_.costs.create) +
                 destroyed_ * units(options_.costs.destroy) + moved * units(options_.costs.move));
    const bool is_max_min = objective_ == ObjectiveKind::kMaxMin;
    const std::int64_t value = is_max_min ? lowest : sum;
    const std::int64_t net = value - cost;
    const std::int64_t second = is_max_min ? sum : 0;
    const int changes = created_ + destroyed_ + moved;
    const auto key = std::tuple(net, second, -changes);
    const auto best = std::tuple(answer_.net_units, answer_.second_units, -answer_.changes);
    if (has_answer_ && (key < best || (key == best && !is_earlier()))) {
      return;
    }
    has_answer_ = true;
    answer_.net_units = net;
    answer_.second_units = second;
    answer_.changes = changes;
    answer_.objective = static_cast<double>(value) / 1e9 *
                        (objective_ == ObjectiveKind::kMeanSlowdown ? -1.0 / jobs_.job_count() : 1);
    answer_.slots.clear();
    for (const std::size_t s : chosen_) {
      answer_.slots.push_back({.placed = seats_[s].placed, .current = seats_[s].current});
    }
  }

  /// Whether the assignment at hand comes before the answer by the third tie rule.
  bool is_earlier() const {
    for (std::size_t j = 0; j < chosen_.size(); ++j) {
      const auto rank = [](const auto& seat) {
        return std::tuple(seat.placed.profile,
                          !seat.current.has_value(),
                          seat.current.has_value() ? seat.placed.start : MemorySlices());
      };
      const auto here = rank(seats_[chosen_[j]]);
      const auto there = rank(answer_.slots[j]);
      if (here != there) {
        return here < there;
      }
    }
    return false;
  }

  const gpu::Geometry& geometry_;
  const SliceAssigner::Options& options_;
  const SpeedMatrix& jobs_;
  ObjectiveKind objective_;
  std::vector<Seat> seats_;
  std::vector<std::size_t> chosen_;
  int created_ = 0;
  int destroyed_ = 0;
  bool has_answer_ = false;
  ExhaustiveAnswer answer_;
};

}  // namespace

ExhaustiveAnswer find_best_exhaustively(const gpu::Geometry& geometry,
                                        const SliceAssigner::Options& options,
                                        const SpeedMatrix& jobs,
                                        plan::ObjectiveKind objective) {
  return Exhaustion(geometry, options, jobs, objective).run();
}

}  // namespace septule::optimize
