#include "optimize/defragmentation.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "optimize/move_options.hpp"
#include "optimize/move_order.hpp"
#include "optimize/packing_space.hpp"
#include "optimize/pattern_selection.hpp"
#include "optimize/placement_blockers.hpp"

namespace septule::optimize {
namespace {

constexpr std::size_t kBlockersNamedMax = 8;

struct MoveClass {
  std::vector<std::size_t> gpus;  // indices into Inventory::gpus
  std::vector<MoveOption> options;
};

struct MoveSpace {
  std::vector<RequestKind> kinds;
  std::vector<MovableProfile> movable;
  std::vector<MoveClass> classes;
};

MoveSpace move_space_of(const gpu::Inventory& inventory, const RequestList& request) {
  MoveSpace space;
  space.kinds = kinds_of(request);
  space.movable = movable_profiles(inventory);
  std::map<std::string, std::size_t> class_of_state;
  for (std::size_t i = 0; i < inventory.gpus.size(); ++i) {
    const auto [entry, is_new] =
        class_of_state.try_emplace(state_signature(inventory.gpus[i]), space.classes.size());
    if (is_new) {
      space.classes.push_back({{}, move_options_of(inventory.gpus[i], space.kinds, space.movable)});
    }
    space.classes[entry->second].gpus.push_back(i);
  }
  return space;
}

PatternProblem problem_of(const MoveSpace& space) {
  PatternProblem problem;
  problem.keys_proven = 3;
  problem.key_count = 3;
  for (const RequestKind& kind : space.kinds) {
    problem.demand.push_back(kind.request.count);
  }
  problem.demand.resize(space.kinds.size() + space.movable.size(), 0);
  for (const MoveClass& group : space.classes) {
    PatternClass patterns;
    patterns.gpu_count = static_cast<int>(group.gpus.size());
    for (const MoveOption& option : group.options) {
      patterns.patterns.push_back({option.takes,
                                   {static_cast<std::int64_t>(option.departures.size()),
                                    static_cast<std::int64_t>(option.destroyed.size()),
                                    option.is_nothing() ? 0 : 1}});
    }
    problem.classes.push_back(std::move(patterns));
  }
  return problem;
}

// Which option each GPU takes; the ones that serve the request go to GPUs with a lower index.
std::map<std::size_t, const MoveOption*> options_by_gpu(const MoveSpace& space,
                                                        const PatternCounts& counts) {
  std::map<std::size_t, const MoveOption*> result;
  for (std::size_t group = 0; group < space.classes.size(); ++group) {
    const std::vector<MoveOption>& options = space.classes[group].options;
    std::vector<std::size_t> order(options.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto rank = [&options](std::size_t i) {
      return std::pair(options[i].served.empty(), options[i].is_nothing());
    };
    std::stable_sort(order.begin(), order.end(), [&rank](std::size_t a, std::size_t b) {
      return rank(a) < rank(b);
    });
    std::size_t gpu = 0;
    for (const std::size_t i : order) {
      for (int copy = 0; copy < counts[group][i]; ++copy) {
        result[space.classes[group].gpus[gpu]] = &options[i];
        ++gpu;
      }
    }
  }
  return result;
}

// Writes one answer: pairs departures with arrivals, orders the moves, draws the final cuts.
class AnswerWriter {
 public:
  AnswerWriter(const gpu::Inventory& inventory,
               const MoveSpace& space,
               std::map<std::size_t, const MoveOption*> chosen)
      : inventory_(inventory),
        space_(space),
        chosen_(std::move(chosen)),
        next_member_(space.kinds.size(), 0) {}

  Defragmentation write() {
    for (const auto& [index, option] : chosen_) {
      if (!option->is_nothing()) {
        start_gpu(index, *option);
      }
    }
    pair_moves();
    for (auto& [index, partition] : partitions_) {
      gpu::canonicalise(partition);
      answer_.desired.push_back({inventory_.gpus[index].index, true, partition});
    }
    answer_.moves = order_moves(inventory_, answer_.destroyed, std::move(answer_.moves));
    return std::move(answer_);
  }

 private:
  struct Place {
    std::size_t gpu = 0;
    gpu::PlacedProfile placed;
    bool is_paired = false;
  };

  void start_gpu(std::size_t index, const MoveOption& option) {
    const gpu::ObservedGpu& gpu = inventory_.gpus[index];
    gpu::Partition& partition = partitions_[index];
    for (std::size_t i = 0; i < gpu.instances.size(); ++i) {
      const gpu::PlacedProfile& placed = gpu.instances[i].placed;
      if (std::ranges::find(option.destroyed, i) != option.destroyed.end()) {
        answer_.destroyed.push_back({gpu.index, placed, gpu::placed_text(*gpu.geometry, placed)});
      } else if (std::ranges::find(option.departures, i) != option.departures.end()) {
        departures_.push_back({index, placed});
      } else if (!is_taken_over(option, placed)) {
        partition.instances.push_back(instance_at(gpu, placed));
      }
    }
    for (const gpu::PlacedProfile& placed : option.arrivals) {
      arrivals_.push_back({index, placed});
    }
    for (const ServedRequest& served : option.served) {
      const RequestKind& kind = space_.kinds[served.kind];
      const auto [item, copy] = kind.members[next_member_[served.kind]++];
      auto instance =
          cut_instance(*gpu.geometry, *kind.request.on(*gpu.geometry), served.placed.start);
      SEPTULE_CHECK(instance.has_value(), "options exist only for compute instances that fit");
      partition.instances.push_back(*instance);
      answer_.targets.push_back(
          {item, copy, gpu.index, *std::move(instance), served.is_reused, served.is_recut});
    }
  }

  static bool is_taken_over(const MoveOption& option, const gpu::PlacedProfile& placed) {
    return std::ranges::find(option.arrivals, placed) != option.arrivals.end() ||
           std::ranges::find(option.served, placed, &ServedRequest::placed) != option.served.end();
  }

  static gpu::GpuInstance instance_at(const gpu::ObservedGpu& gpu,
                                      const gpu::PlacedProfile& placed) {
    const gpu::Partition partition = gpu.partition();
    const auto found = std::ranges::find(partition.instances, placed, &gpu::GpuInstance::placed);
    SEPTULE_CHECK(found != partition.instances.end(), "a GPU's partition holds its instances");
    return *found;
  }

  void pair_moves() {
    for (const bool is_same_gpu : {true, false}) {
      for (Place& from : departures_) {
        for (Place& to : arrivals_) {
          const bool is_equal_kind =
              inventory_.gpus[from.gpu].geometry == inventory_.gpus[to.gpu].geometry &&
              from.placed.profile == to.placed.profile;
          if (!from.is_paired && !to.is_paired && is_equal_kind &&
              (!is_same_gpu || from.gpu == to.gpu)) {
            from.is_paired = true;
            to.is_paired = true;
            add_move(from, to);
          }
        }
      }
    }
  }

  void add_move(const Place& from, const Place& to) {
    const gpu::ObservedGpu& source = inventory_.gpus[from.gpu];
    const gpu::ObservedGpu& target = inventory_.gpus[to.gpu];
    const auto instance =
        std::ranges::find(source.instances, from.placed, &gpu::ObservedInstance::placed);
    SEPTULE_CHECK(instance != source.instances.end(), "only an instance that exists departs");
    InstanceMove move;
    move.from_gpu = source.index;
    move.to_gpu = target.index;
    move.from = from.placed;
    move.to = to.placed;
    move.holders = instance->holders();
    move.reuses_idle =
        std::ranges::any_of(target.instances, [&to](const gpu::ObservedInstance& present) {
          return present.placed == to.placed && present.effective_hold() == gpu::Hold::kIdle;
        });
    move.text = fmt::format("{} on GPU {} -> {} on GPU {}",
                            gpu::observed_text(source, *instance),
                            source.index.value(),
                            gpu::placed_text(*target.geometry, to.placed),
                            target.index.value());
    answer_.moves.push_back(std::move(move));
    gpu::GpuInstance copy = instance_at(source, from.placed);
    copy.placed = to.placed;
    partitions_[to.gpu].instances.push_back(std::move(copy));
  }

  const gpu::Inventory& inventory_;
  const MoveSpace& space_;
  std::map<std::size_t, const MoveOption*> chosen_;
  std::vector<std::size_t> next_member_;
  std::map<std::size_t, gpu::Partition> partitions_;
  std::vector<Place> departures_;
  std::vector<Place> arrivals_;
  Defragmentation answer_;
};

// Why the request would not fit even if nothing were on the GPUs; empty if it would.
std::string limit_of_empty_node(const gpu::Inventory& inventory, const RequestList& request) {
  gpu::Inventory empty = inventory;
  for (gpu::ObservedGpu& gpu : empty.gpus) {
    gpu.instances.clear();
  }
  const PackingProblem problem{request, PackingPolicy::kPack, IdleRule::kKeep};
  WorkBudget budget(kPackingUnitsMax);
  const auto packing = pack_instances(empty, problem, budget);
  if (packing || packing.error().code != ErrorCode::kBlocked) {
    return "";
  }
  return packing_limit(empty, search_space_of(empty, request, problem.idle_rule), problem);
}

// Who may not move and stands in every way; or that what must move has nowhere to go.
Error cannot_fit(const gpu::Inventory& inventory, const RequestList& request) {
  std::vector<std::string> blocked;
  bool is_room_for_request = false;
  const auto stays = [](const gpu::ObservedInstance& instance) {
    return instance.effective_hold() != gpu::Hold::kIdle && !can_move(instance);
  };
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    for (const RequestedInstances& item : request.items) {
      const gpu::InstanceRequest* reading = item.on(*gpu.geometry);
      if (reading == nullptr || !is_usable(gpu)) {
        continue;
      }
      const std::vector<BlockedPlacement> ways = blocked_placements(gpu, *reading, stays);
      const std::size_t places =
          reading->start ? 1 : gpu.geometry->profile(reading->profile).placements.size();
      is_room_for_request = is_room_for_request || ways.size() < places;
      for (const BlockedPlacement& way : ways) {
        blocked.push_back(fmt::format("on GPU {} {}", gpu.index.value(), way.text));
      }
    }
  }
  const std::size_t left_out =
      blocked.size() > kBlockersNamedMax ? blocked.size() - kBlockersNamedMax : 0;
  blocked.resize(blocked.size() - left_out);
  std::string reason = "no GPU of the node can hold it";
  if (is_room_for_request) {
    reason = "there is no other place for what would have to move";
  }
  const bool has_movable = std::ranges::any_of(inventory.gpus, [](const gpu::ObservedGpu& gpu) {
    return std::ranges::any_of(gpu.instances, can_move);
  });
  if (!has_movable) {
    reason = "no busy instance is marked movable";
  }
  if (const std::string limit = limit_of_empty_node(inventory, request); !limit.empty()) {
    reason = fmt::format("even with every GPU empty, {}", limit);
    blocked.clear();
  }
  if (!blocked.empty()) {
    reason += fmt::format("; not movable: {}{}",
                          fmt::join(blocked, "; "),
                          left_out > 0 ? fmt::format("; and {} more", left_out) : "");
  }
  std::vector<std::string> names;
  for (const RequestedInstances& item : request.items) {
    names.push_back(item.count == 1 ? item.name()
                                    : fmt::format("{} x {}", item.count, item.name()));
  }
  return Error{ErrorCode::kBlocked,
               fmt::format("no moves make {} fit: {}", joined_with_and(names), reason)};
}

struct LargerFirst {
  const gpu::Geometry* geometry = nullptr;
  ProfileIndex profile;
  int slices = 0;
};

std::vector<LargerFirst> plain_profiles(const gpu::Inventory& inventory) {
  std::vector<LargerFirst> all;
  for (const gpu::Geometry* geometry : geometries_of(inventory)) {
    for (const ProfileIndex profile : geometry->profiles_in(gpu::ProfileSet::kPlain)) {
      all.push_back({geometry, profile, geometry->profile(profile).slices.value()});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &LargerFirst::slices);
  return all;
}

bool fits_now(const gpu::Inventory& inventory, const LargerFirst& wanted) {
  return std::ranges::any_of(inventory.gpus, [&wanted](const gpu::ObservedGpu& gpu) {
    if (gpu.geometry != wanted.geometry || !is_usable(gpu)) {
      return false;
    }
    RequestList one;
    one.items.push_back(request_for(*wanted.geometry, wanted.profile));
    return options_of(gpu, kinds_of(one), IdleRule::kKeep).size() > 1;
  });
}

}  // namespace

Result<Defragmentation> defragment(const gpu::Inventory& inventory,
                                   const RequestList& request,
                                   WorkBudget& budget) {
  const std::int64_t units_before = budget.units_spent();
  const MoveSpace space = move_space_of(inventory, request);
  const PatternOutcome outcome = select_patterns(problem_of(space), budget);
  const std::int64_t units = budget.units_spent() - units_before;
  if (!outcome.counts) {
    if (!outcome.is_proven) {
      return Error{ErrorCode::kTimedOut,
                   fmt::format("no moves that make the request fit were found within {} work "
                               "units, and none could be ruled out",
                               units)};
    }
    return cannot_fit(inventory, request);
  }
  Defragmentation answer =
      AnswerWriter(inventory, space, options_by_gpu(space, *outcome.counts)).write();
  answer.request = request;
  answer.certificate.is_optimal = outcome.is_proven;
  answer.certificate.work_units = units;
  const char* const names[] = {"moves", "idle instances destroyed", "GPUs touched"};
  for (std::size_t key = 0; key < outcome.values.size(); ++key) {
    answer.certificate.keys.push_back({names[key], outcome.values[key], outcome.lower_bounds[key]});
  }
  return answer;
}

Result<LargestDefragmentation> defragment_for_largest(const gpu::Inventory& inventory,
                                                      WorkBudget& budget) {
  LargestDefragmentation result;
  std::optional<LargerFirst> fitting;
  for (const LargerFirst& candidate : plain_profiles(inventory)) {
    if (fits_now(inventory, candidate)) {
      fitting = fitting ? fitting : candidate;
      continue;
    }
    RequestList request;
    request.items.push_back(request_for(*candidate.geometry, candidate.profile));
    Result<Defragmentation> answer = defragment(inventory, request, budget);
    if (answer) {
      result.answer = std::move(answer).value();
      return result;
    }
    result.refused.push_back(answer.error().message);
  }
  if (!fitting) {
    return Error{ErrorCode::kBlocked,
                 result.refused.empty() ? "no GPU with a published profile table is there"
                                        : result.refused.back()};
  }
  RequestList request;
  request.items.push_back(request_for(*fitting->geometry, fitting->profile));
  SEPTULE_TRY(result.answer, defragment(inventory, request, budget));
  return result;
}

}  // namespace septule::optimize
