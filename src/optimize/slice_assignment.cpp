#include "optimize/slice_assignment.hpp"

#include <algorithm>
#include <bit>
#include <compare>
#include <limits>
#include <utility>

#include "base/check.hpp"
#include "optimize/slice_assignment_graph.hpp"
#include "optimize/slice_assignment_keys.hpp"

namespace septule::optimize {
namespace {

using plan::ObjectiveKind;

struct CostUnits {
  std::int64_t create = 0;
  std::int64_t destroy = 0;
  std::int64_t move = 0;

  bool are_zero() const { return create == 0 && destroy == 0 && move == 0; }
};

/// One step taken: a current instance or a new one of a profile.
struct Choice {
  ProfileIndex profile;
  int is_new = 0;
  MemorySlices start;  ///< of the current instance
  int current = -1;    ///< its index

  friend constexpr auto operator<=>(const Choice&, const Choice&) = default;
};
using Choices = std::array<Choice, kAssignedJobsMax>;

/// The best answer seen so far. `major`, then `score`, then choices, then first come.
struct Incumbent {
  const KeptSet* set = nullptr;
  std::size_t node = 0;
  std::int64_t major = 0;
  std::int64_t score = 0;
  Choices choices{};
};

/// One call of SliceAssigner::solve. Keeps all its scratch memory in itself (on the stack).
class SliceSolver {
 public:
  // values_ is filled by fill_values() as far as it is read; clearing it would cost more than that.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  SliceSolver(const AssignmentGraph& graph, const SpeedMatrix& jobs, ObjectiveKind objective)
      : graph_(graph), jobs_(jobs), objective_(objective), job_count_(jobs.job_count()) {
    // The mean is worked with as a sum, so costs count once per job.
    const std::int64_t scale = objective == ObjectiveKind::kMeanSlowdown ? job_count_ : 1;
    costs_ = {.create = to_units(graph.costs.create) * scale,
              .destroy = to_units(graph.costs.destroy) * scale,
              .move = to_units(graph.costs.move) * scale};
  }

  void solve(SliceAssignment& out) {
    out.job_count = job_count_;
    out.infeasibility = Infeasibility::kNone;
    if (job_count_ > graph_.capacity) {
      out.infeasibility = Infeasibility::kTooManyJobs;
      return;
    }
    fill_values();
    if (const std::optional<int> job = job_without_place()) {
      out.infeasibility = Infeasibility::kJobFitsNowhere;
      out.infeasible_job = *job;
      return;
    }
    if (objective_ != ObjectiveKind::kMaxMin) {
      improve_with_sums(0);
    } else if (costs_.are_zero()) {
      if (const std::optional<std::int64_t> floor = highest_floor()) {
        improve_with_sums(*floor);
      }
    } else {
      improve_with_every_floor();
    }
    if (best_.set == nullptr) {
      out.infeasibility = Infeasibility::kNoLayout;
      return;
    }
    write(out);
  }

 private:
  std::int64_t value_of(int job, ProfileIndex profile) const {
    const double speed = jobs_.speed(job, profile);
    return speed > 0.0 ? value_units(objective_, speed, jobs_.weight(job)) : kImpossible;
  }

  void fill_values() {
    home_.fill(-1);
    std::array<int, kAssignedJobsMax> pinned_at{};
    pinned_at.fill(-1);
    for (std::size_t i = 0; i < graph_.current.size(); ++i) {
      const CurrentInstance& instance = graph_.current[i];
      if (instance.job.has_value()) {
        SEPTULE_CHECK(*instance.job < job_count_, "current instances name jobs of the table");
        home_[static_cast<std::size_t>(*instance.job)] = static_cast<int>(i);
        if (instance.use == InstanceUse::kPinned) {
          pinned_at[static_cast<std::size_t>(*instance.job)] = static_cast<int>(i);
        }
      }
    }
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      for (std::size_t p = 0; p < graph_.profiles.size(); ++p) {
        values_.on_new[j][p] = pinned_at[j] < 0 ? value_of(job, graph_.profiles[p]) : kImpossible;
      }
      for (std::size_t i = 0; i < graph_.current.size(); ++i) {
        const CurrentInstance& instance = graph_.current[i];
        const bool is_allowed = instance.use == InstanceUse::kPinned
                                    ? pinned_at[j] == static_cast<int>(i)
                                    : pinned_at[j] < 0 && instance.use != InstanceUse::kFrozen;
        values_.on_current[j][i] =
            is_allowed ? value_of(job, instance.placed.profile) : kImpossible;
      }
    }
  }

  /// The first job that fits on nothing at all (profiles that can be cut, or current instances).
  std::optional<int> job_without_place() const {
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      bool has_place = false;
      for (const KeptSet& set : graph_.kept_sets) {
        const AssignmentNode& none = set.nodes.front();
        for (std::uint32_t e = none.edges_begin; e < none.edges_end && !has_place; ++e) {
          has_place = values_.on_new[j][set.edges[e].profile] != kImpossible;
        }
        for (const int host : set.hosts) {
          has_place =
              has_place || values_.on_current[j][static_cast<std::size_t>(host)] != kImpossible;
        }
        if (has_place) {
          break;
        }
      }
      if (!has_place) {
        return job;
      }
    }
    return std::nullopt;
  }

  /// Steps for a sum of values; values below `floor` units are impossible (kMaxMin).
  template <class Algebra>
  void fill_steps(StepTable<Algebra>& steps, std::int64_t floor) const {
    const bool is_floored = objective_ == ObjectiveKind::kMaxMin;
    const auto key = [&](std::int64_t value, std::int64_t cost, std::int64_t changes) {
      if (value == kImpossible || (is_floored && value < floor)) {
        return Algebra::impossible();
      }
      if constexpr (std::is_same_v<Algebra, AdditivePair>) {
        return CostThenScore{.minus_cost = -cost, .score = value * kChangesScale - changes};
      } else {
        return (value - cost) * kChangesScale - changes;
      }
    };
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      const bool has_home = home_[j] >= 0;
      const std::int64_t new_cost = costs_.create + (has_home ? costs_.move : 0);
      for (std::size_t p = 0; p < graph_.profiles.size(); ++p) {
        steps.on_new[j][p] = key(values_.on_new[j][p], new_cost, has_home ? 2 : 1);
      }
      for (std::size_t i = 0; i < graph_.current.size(); ++i) {
        const bool is_move = has_home && home_[j] != static_cast<int>(i);
        steps.on_current[j][i] =
            key(values_.on_current[j][i], is_move ? costs_.move : 0, is_move ? 1 : 0);
      }
    }
    if constexpr (std::is_same_v<Algebra, AdditivePair>) {
      steps.destroy = {.minus_cost = -costs_.destroy, .score = -1};
    } else {
      steps.destroy = -costs_.destroy * kChangesScale - 1;
    }
  }

  /// Best key of jobs `job`.. from a state whose steps lead to states already computed.
  template <class Algebra>
  static typename Algebra::Key best_from(const KeptSet& set,
                                         const StepTable<Algebra>& steps,
                                         const typename Algebra::Key* table,
                                         std::size_t job,
                                         std::size_t state) {
    const std::size_t node_count = set.nodes.size();
    const std::size_t mask = state / node_count;
    const AssignmentNode& node = set.nodes[state % node_count];
    const auto& on_new = steps.on_new[job];
    const typename Algebra::Key* after = table + mask * node_count;
    typename Algebra::Key best = Algebra::impossible();
    for (std::uint32_t e = node.edges_begin; e < node.edges_end; ++e) {
      const AssignmentEdge edge = set.edges[e];
      best = std::max(best, Algebra::join(on_new[edge.profile], after[edge.to]));
    }
    for (std::size_t h = 0; h < set.hosts.size(); ++h) {
      if ((mask >> h & 1U) == 0) {
        const auto& step = steps.on_current[job][static_cast<std::size_t>(set.hosts[h])];
        best = std::max(best, Algebra::join(step, table[state + (node_count << h)]));
      }
    }
    return best;
  }

  /// Fills `table` (by state = hosts in use x nodes + node) from the last job to the first; the
  /// answer is table[0].
  template <class Algebra>
  void run_backwards(const KeptSet& set,
                     const StepTable<Algebra>& steps,
                     typename Algebra::Key* table) const {
    const std::size_t node_count = set.nodes.size();
    const std::size_t mask_count = std::size_t{1} << set.hosts.size();
    for (int job = job_count_; job >= 0; --job) {
      for (std::size_t mask = 0; mask < mask_count; ++mask) {
        const int in_hosts = std::popcount(mask);
        if (in_hosts > job) {
          continue;
        }
        const auto level = static_cast<std::size_t>(job - in_hosts);
        const std::size_t begin = mask * node_count + set.level_begin[level];
        const std::size_t end = mask * node_count + set.level_begin[level + 1];
        for (std::size_t state = begin; state < end; ++state) {
          table[state] =
              job == job_count_
                  ? Algebra::end()
                  : best_from<Algebra>(set, steps, table, static_cast<std::size_t>(job), state);
        }
      }
    }
  }

  /// Walks from state 0 along best steps, taking the first in the order of the tie rule.
  template <class Algebra>
  std::size_t walk(const KeptSet& set,
                   const StepTable<Algebra>& steps,
                   const typename Algebra::Key* table,
                   Choices& choices) const {
    const std::size_t node_count = set.nodes.size();
    std::size_t state = 0;
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      const std::size_t mask = state / node_count;
      const AssignmentNode& node = set.nodes[state % node_count];
      std::optional<Choice> first;
      std::size_t next = state;
      const auto offer = [&](const Choice& choice, const auto& step, std::size_t to) {
        if (Algebra::join(step, table[to]) == table[state] && (!first || choice < *first)) {
          first = choice;
          next = to;
        }
      };
      for (std::size_t h = 0; h < set.hosts.size(); ++h) {
        if ((mask >> h & 1U) == 0) {
          const auto i = static_cast<std::size_t>(set.hosts[h]);
          const gpu::PlacedProfile& placed = graph_.current[i].placed;
          offer({.profile = placed.profile,
                 .is_new = 0,
                 .start = placed.start,
                 .current = set.hosts[h]},
                steps.on_current[j][i],
                state + (node_count << h));
        }
      }
      for (std::uint32_t e = node.edges_begin; e < node.edges_end; ++e) {
        const AssignmentEdge edge = set.edges[e];
        offer({.profile = graph_.profiles[edge.profile], .is_new = 1, .start = {}, .current = -1},
              steps.on_new[j][edge.profile],
              mask * node_count + edge.to);
      }
      SEPTULE_CHECK(first.has_value(), "a possible state has a best step");
      choices[j] = *first;
      state = next;
    }
    return state % node_count;
  }

  template <class Algebra>
  typename Algebra::Key with_destroyed(const KeptSet& set,
                                       const StepTable<Algebra>& steps,
                                       typename Algebra::Key key) const {
    for (int i = 0; i < set.destroyed; ++i) {
      key = Algebra::join(steps.destroy, key);
    }
    return key;
  }

  /// Offers the best answer of each kept set. `major_of(key)` and `score_of(key)` say how it ranks.
  template <class Algebra, class Rank>
  void improve(const StepTable<Algebra>& steps, const Rank& rank) {
    std::array<typename Algebra::Key, kStatesMax> table;  // NOLINT(*-member-init): filled by level
    for (const KeptSet& set : graph_.kept_sets) {
      run_backwards<Algebra>(set, steps, table.data());
      if (job_count_ > 0 && !Algebra::is_possible(table[0])) {
        continue;
      }
      const auto [major, score] = rank(with_destroyed<Algebra>(set, steps, table[0]));
      if (best_.set != nullptr && std::pair(major, score) < std::pair(best_.major, best_.score)) {
        continue;
      }
      Choices choices{};
      const std::size_t node = walk<Algebra>(set, steps, table.data(), choices);
      const bool is_better = best_.set == nullptr ||
                             std::pair(major, score) > std::pair(best_.major, best_.score) ||
                             choices < best_.choices;
      if (is_better) {
        best_ = {.set = &set, .node = node, .major = major, .score = score, .choices = choices};
      }
    }
  }

  void improve_with_sums(std::int64_t floor) {
    StepTable<Additive> steps;  // NOLINT(*-member-init): what is read is filled
    fill_steps<Additive>(steps, floor);
    improve<Additive>(steps, [](std::int64_t key) { return std::pair(std::int64_t{0}, key); });
  }

  /// The highest speed (in units) that every job can have at once; kMaxMin without costs.
  std::optional<std::int64_t> highest_floor() const {
    StepTable<Bottleneck> steps;  // NOLINT(*-member-init): what is read is filled
    steps.on_new = values_.on_new;
    steps.on_current = values_.on_current;
    std::array<std::int64_t, kStatesMax> table;  // NOLINT(*-member-init): filled by level
    std::int64_t best = kImpossible;
    for (const KeptSet& set : graph_.kept_sets) {
      run_backwards<Bottleneck>(set, steps, table.data());
      best = std::max(best, table[0]);
    }
    return Bottleneck::is_possible(best) ? std::optional(best) : std::nullopt;
  }

  /// kMaxMin with costs: for each floor the least cost, then the best sum. An answer whose lowest
  /// speed is above the floor is judged too low here and rightly at its own floor.
  void improve_with_every_floor() {
    std::array<std::int64_t, kAssignedJobsMax*(kProfilesPerSetMax + kAssignedJobsMax)> floors{};
    std::size_t count = 0;
    const auto add_all = [&](std::span<const std::int64_t> values) {
      for (const std::int64_t value : values) {
        if (value != kImpossible) {
          floors[count] = value;
          ++count;
        }
      }
    };
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      add_all(std::span(values_.on_new[j]).first(graph_.profiles.size()));
      add_all(std::span(values_.on_current[j]).first(graph_.current.size()));
    }
    std::sort(
        floors.begin(), floors.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
    StepTable<AdditivePair> steps;  // NOLINT(*-member-init): what is read is filled
    for (std::size_t f = 0; f < count; ++f) {
      const std::int64_t floor = floors[f];
      if (f > 0 && floor == floors[f - 1]) {
        continue;
      }
      if (best_.set != nullptr && floor < best_.major) {
        break;  // costs are not negative: a lower floor cannot reach the best any more
      }
      fill_steps<AdditivePair>(steps, floor);
      improve<AdditivePair>(steps, [floor](const CostThenScore& key) {
        return std::pair(floor + key.minus_cost, key.score);
      });
    }
  }

  void write(SliceAssignment& out) const {
    const KeptSet& set = *best_.set;
    const AssignmentNode& node = set.nodes[best_.node];
    out.kept = set.kept;
    out.created = node.placed_count;
    out.destroyed = set.destroyed;
    out.moved = 0;
    std::uint32_t taken = 0;
    for (int job = 0; job < job_count_; ++job) {
      const auto j = static_cast<std::size_t>(job);
      const Choice& choice = best_.choices[j];
      SliceAssignment::Slot& slot = out.slots[j];
      if (choice.is_new == 0) {
        slot.current = choice.current;
        slot.placed = graph_.current[static_cast<std::size_t>(choice.current)].placed;
      } else {
        std::size_t at = 0;
        while ((taken >> at & 1U) != 0 || node.placed[at].profile != choice.profile) {
          ++at;
          SEPTULE_CHECK(at < node.placed.size(), "the node holds the profiles chosen");
        }
        taken |= 1U << at;
        slot.current = std::nullopt;
        slot.placed = node.placed[at];
      }
      if (home_[j] >= 0 && slot.current != home_[j]) {
        ++out.moved;
      }
    }
    out.idle_room = node.room;
    out.idle_room_count = node.room_count;
    out.objective = objective_of(out);
    out.change_cost = graph_.costs.create * out.created + graph_.costs.destroy * out.destroyed +
                      graph_.costs.move * out.moved;
  }

  /// From the speeds as given, in job order: what is reported does not carry the rounding above.
  double objective_of(const SliceAssignment& out) const {
    double sum = 0;
    double lowest = std::numeric_limits<double>::infinity();
    for (int job = 0; job < job_count_; ++job) {
      const double speed =
          jobs_.speed(job, out.slots[static_cast<std::size_t>(job)].placed.profile);
      lowest = std::min(lowest, speed);
      sum += objective_ == ObjectiveKind::kMeanSlowdown  ? 1.0 / speed
             : objective_ == ObjectiveKind::kWeightedSum ? speed * jobs_.weight(job)
                                                         : speed;
    }
    if (objective_ == ObjectiveKind::kMaxMin) {
      return lowest;
    }
    return objective_ == ObjectiveKind::kMeanSlowdown ? sum / job_count_ : sum;
  }

  const AssignmentGraph& graph_;
  const SpeedMatrix& jobs_;
  ObjectiveKind objective_;
  int job_count_;
  CostUnits costs_;
  std::array<int, kAssignedJobsMax> home_{};  // current instance of each job, -1 = none
  ValueTable values_;
  Incumbent best_;
};

}  // namespace

SliceAssigner::SliceAssigner(std::unique_ptr<const AssignmentGraph> graph)
    : graph_(std::move(graph)) {}
SliceAssigner::SliceAssigner(SliceAssigner&& other) noexcept = default;
SliceAssigner& SliceAssigner::operator=(SliceAssigner&& other) noexcept = default;
SliceAssigner::~SliceAssigner() = default;

Result<SliceAssigner> SliceAssigner::make(const gpu::Geometry& geometry, const Options& options) {
  SEPTULE_TRY(AssignmentGraph graph, AssignmentGraph::make(geometry, options));
  return SliceAssigner(std::make_unique<const AssignmentGraph>(std::move(graph)));
}

void SliceAssigner::solve(const SpeedMatrix& jobs,
                          plan::ObjectiveKind objective,
                          SliceAssignment& out) const {
  SliceSolver(*graph_, jobs, objective).solve(out);
}

std::size_t SliceAssigner::multiset_count() const {
  return graph_->kept_sets.front().nodes.size();
}

std::size_t SliceAssigner::kept_set_count() const {
  return graph_->kept_sets.size();
}

}  // namespace septule::optimize
