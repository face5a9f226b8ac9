#include "optimize/defragmentation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "support/node_builder.hpp"

namespace septule::optimize {
namespace {

using Key = std::vector<std::int64_t>;
using gpu::Hold;
using test::geometry;
using test::gpu_with;
using ::testing::HasSubstr;

RequestList one_of(const gpu::Geometry& model, ProfileIndex profile) {
  RequestList list;
  list.items.push_back(request_for(model, profile));
  return list;
}

// The request at every place, every movable instance staying or at every other place, every subset
// of idle instances gone; finished cuts are judged by the partition checker alone.
class BruteForce {
 public:
  BruteForce(const gpu::Inventory& inventory, const RequestList& request)
      : inventory_(inventory),
        request_(request.items.front()),
        layouts_(inventory.gpus.size()),
        touched_(inventory.gpus.size(), 0) {
    for (std::size_t gpu = 0; gpu < inventory.gpus.size(); ++gpu) {
      for (const gpu::ObservedInstance& instance : inventory.gpus[gpu].instances) {
        const Hold hold = instance.effective_hold();
        if (hold == Hold::kBusy && instance.is_movable) {
          movable_.emplace_back(gpu, instance.placed);
        } else if (hold == Hold::kIdle) {
          idle_.emplace_back(gpu, instance.placed);
        } else {
          layouts_[gpu].push_back(instance.placed);
        }
      }
    }
  }

  std::optional<Key> run() {
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
      const gpu::Geometry& model = *inventory_.gpus[gpu].geometry;
      const gpu::InstanceRequest* reading = request_.on(model);
      if (reading == nullptr) {
        continue;
      }
      for (const gpu::Placement& place : model.profile(reading->profile).placements) {
        const gpu::PlacedProfile target{reading->profile, place.start};
        if (!is_taken(gpu, target)) {
          ++touched_[gpu];
          layouts_[gpu].push_back(target);
          move(0, 0);
          layouts_[gpu].pop_back();
          --touched_[gpu];
        }
      }
    }
    return best_;
  }

 private:
  bool is_taken(std::size_t gpu, const gpu::PlacedProfile& placed) const {
    const gpu::Geometry& model = *inventory_.gpus[gpu].geometry;
    return std::ranges::any_of(layouts_[gpu], [&](const gpu::PlacedProfile& other) {
      return gpu::placement_of(model, other).overlaps(gpu::placement_of(model, placed));
    });
  }

  void move(std::size_t i, std::int64_t moves) {
    if (best_ && moves > best_->front()) {
      return;
    }
    if (i == movable_.size()) {
      keep_idle(0, moves, 0);
      return;
    }
    const auto [home, placed] = movable_[i];
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
      const gpu::Geometry& model = *inventory_.gpus[gpu].geometry;
      if (&model != inventory_.gpus[home].geometry) {
        continue;
      }
      for (const gpu::Placement& place : model.profile(placed.profile).placements) {
        const gpu::PlacedProfile target{placed.profile, place.start};
        if (is_taken(gpu, target)) {
          continue;
        }
        const int away = gpu == home && target == placed ? 0 : 1;
        touched_[gpu] += away;
        touched_[home] += away;
        layouts_[gpu].push_back(target);
        move(i + 1, moves + away);
        layouts_[gpu].pop_back();
        touched_[home] -= away;
        touched_[gpu] -= away;
      }
    }
  }

  void keep_idle(std::size_t i, std::int64_t moves, std::int64_t destroyed) {
    if (i == idle_.size()) {
      judge(moves, destroyed);
      return;
    }
    const auto [gpu, placed] = idle_[i];
    if (std::ranges::find(layouts_[gpu], placed) != layouts_[gpu].end()) {
      keep_idle(i + 1, moves, destroyed);  // taken over
      return;
    }
    if (!is_taken(gpu, placed)) {
      layouts_[gpu].push_back(placed);
      keep_idle(i + 1, moves, destroyed);
      layouts_[gpu].pop_back();
    }
    ++touched_[gpu];
    keep_idle(i + 1, moves, destroyed + 1);
    --touched_[gpu];
  }

  void judge(std::int64_t moves, std::int64_t destroyed) {
    const Key key{moves, destroyed, std::ranges::count_if(touched_, [](int n) { return n > 0; })};
    if (best_ && key >= *best_) {
      return;
    }
    for (std::size_t gpu = 0; gpu < layouts_.size(); ++gpu) {
      const gpu::Geometry& model = *inventory_.gpus[gpu].geometry;
      const auto cut = gpu::partition_with_full_instances(model, layouts_[gpu]);
      if (!gpu::check_partition(model, cut).empty()) {
        return;
      }
    }
    best_ = key;
  }

  const gpu::Inventory& inventory_;
  const RequestedInstances& request_;
  std::vector<gpu::Layout> layouts_;
  std::vector<int> touched_;
  std::vector<std::pair<std::size_t, gpu::PlacedProfile>> movable_;
  std::vector<std::pair<std::size_t, gpu::PlacedProfile>> idle_;
  std::optional<Key> best_;
};

// Carries the answer out step by step: idle ones away, then each move in the order given, then the
// request. The result must be the desired cut, legal at each step.
void expect_doable(const gpu::Inventory& inventory, const Defragmentation& answer) {
  std::map<GpuIndex, gpu::Layout> layouts;
  std::map<GpuIndex, const gpu::Geometry*> models;
  for (const gpu::ObservedGpu& gpu : inventory.gpus) {
    layouts[gpu.index] = gpu.layout();
    models[gpu.index] = gpu.geometry;
  }
  const auto take = [&](GpuIndex gpu, const gpu::PlacedProfile& placed) {
    ASSERT_EQ(std::erase(layouts[gpu], placed), 1);
  };
  for (const DestroyedInstance& idle : answer.destroyed) {
    take(idle.gpu, idle.placed);
  }
  for (const InstanceMove& move : answer.moves) {
    if (move.needs_stop_first) {
      take(move.from_gpu, move.from);
    }
  }
  for (const InstanceMove& move : answer.moves) {
    const gpu::ObservedGpu& source =
        *std::ranges::find(inventory.gpus, move.from_gpu, &gpu::ObservedGpu::index);
    const auto seen =
        std::ranges::find(source.instances, move.from, &gpu::ObservedInstance::placed);
    ASSERT_NE(seen, source.instances.end());
    EXPECT_TRUE(seen->is_movable && seen->effective_hold() == Hold::kBusy);
    EXPECT_EQ(move.from.profile, move.to.profile);
    EXPECT_EQ(models[move.from_gpu], models[move.to_gpu]);
    if (move.reuses_idle) {
      take(move.to_gpu, move.to);
    }
    layouts[move.to_gpu].push_back(move.to);
    const auto cut = gpu::partition_with_full_instances(*models[move.to_gpu], layouts[move.to_gpu]);
    EXPECT_TRUE(gpu::check_partition(*models[move.to_gpu], cut).empty());
    if (!move.needs_stop_first) {
      take(move.from_gpu, move.from);
    }
  }
  for (const PackedInstance& target : answer.targets) {
    if (!target.is_reused) {
      layouts[target.gpu].push_back(target.instance.placed);
    }
  }
  for (const gpu::DesiredGpu& desired : answer.desired) {
    gpu::canonicalise(layouts[desired.index]);
    EXPECT_EQ(gpu::layout_of(desired.partition), layouts[desired.index]);
    EXPECT_TRUE(gpu::check_partition(*models[desired.index], desired.partition).empty());
  }
}

void compare_with_brute_force(const gpu::Inventory& inventory,
                              const RequestList& request,
                              int& solved) {
  const std::optional<Key> expected = BruteForce(inventory, request).run();
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto answer = defragment(inventory, request, budget);
  ASSERT_EQ(answer.has_value(), expected.has_value());
  if (!answer) {
    EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
    return;
  }
  ++solved;
  const Key key{static_cast<std::int64_t>(answer->moves.size()),
                static_cast<std::int64_t>(answer->destroyed.size()),
                static_cast<std::int64_t>(answer->desired.size())};
  EXPECT_EQ(key, *expected);
  EXPECT_TRUE(answer->certificate.is_optimal);
  expect_doable(inventory, *answer);
}

gpu::ObservedGpu random_holds(std::mt19937& random,
                              const gpu::Geometry& model,
                              int index,
                              const gpu::Layout& layout) {
  gpu::ObservedGpu gpu = gpu_with(model, index);
  for (const gpu::PlacedProfile& placed : layout) {
    gpu::ObservedInstance instance;
    instance.placed = placed;
    const auto draw = random() % 8;
    instance.hold = draw < 5 ? Hold::kBusy : draw < 7 ? Hold::kIdle : Hold::kForeign;
    instance.is_movable = draw != 0;
    gpu.instances.push_back(instance);
  }
  return gpu;
}

std::vector<gpu::Layout> layouts_of(const gpu::Geometry& model, gpu::ProfileSet set) {
  std::vector<gpu::Layout> layouts;
  gpu::for_each_layout(model, model.profiles_in(set), {}, [&](const gpu::Layout& layout, bool) {
    layouts.push_back(layout);
  });
  return layouts;
}

void compare_every_layout(const gpu::Geometry& model, gpu::ProfileSet set, int masks) {
  std::mt19937 random(7);
  int solved = 0;
  int index = 0;
  for (const gpu::Layout& layout : layouts_of(model, set)) {
    for (const ProfileIndex wanted : model.profiles_in(set)) {
      for (int mask = 0; mask < masks; ++mask) {
        SCOPED_TRACE(testing::Message() << "case " << index++);
        gpu::Inventory inventory;
        inventory.gpus = {random_holds(random, model, 0, layout)};
        compare_with_brute_force(inventory, one_of(model, wanted), solved);
      }
    }
  }
  EXPECT_GT(solved, index / 10);
}

TEST(Defragmentation, EveryPlainA100Layout_EqualsBruteForce) {
  // Aim: all 298 layouts x 5 requests x random holds need exactly the moves found.
  compare_every_layout(geometry("A100-40GB"), gpu::ProfileSet::kPlain, 4);
}

TEST(Defragmentation, EveryA30Layout_EqualsBruteForce) {
  // Aim: all layouts of A30 with +me.
  compare_every_layout(geometry("A30-24GB"), gpu::ProfileSet::kAll, 8);
}

TEST(Defragmentation, EveryRtxLayout_EqualsBruteForce) {
  // Aim: engine budgets decide who has to go.
  compare_every_layout(geometry("RTX-PRO-6000-Blackwell"), gpu::ProfileSet::kAll, 1);
}

void compare_random_nodes(const std::vector<const gpu::Geometry*>& models,
                          gpu::ProfileSet set,
                          int runs) {
  std::mt19937 random(11);
  int solved = 0;
  for (int run = 0; run < runs; ++run) {
    SCOPED_TRACE(testing::Message() << "run " << run);
    gpu::Inventory inventory;
    for (std::size_t i = 0; i < models.size(); ++i) {
      const std::vector<gpu::Layout> layouts = layouts_of(*models[i], set);
      inventory.gpus.push_back(random_holds(
          random, *models[i], static_cast<int>(i), layouts[random() % layouts.size()]));
    }
    const gpu::Geometry& model = *models[random() % models.size()];
    const std::vector<ProfileIndex> profiles = model.profiles_in(set);
    compare_with_brute_force(
        inventory, one_of(model, profiles[random() % profiles.size()]), solved);
  }
  EXPECT_GT(solved, runs / 10);
}

TEST(Defragmentation, TwoRandomGpus_EqualsBruteForce) {
  // Aim: moves between GPUs, also in chains, are the least.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  compare_random_nodes({&a100, &a100}, gpu::ProfileSet::kPlain, 300);
}

TEST(Defragmentation, RandomA30AndRtxPairs_EqualsBruteForce) {
  // Aim: two small GPUs with all profiles; and models never mix.
  const gpu::Geometry& a30 = geometry("A30-24GB");
  const gpu::Geometry& rtx = geometry("RTX-PRO-6000-Blackwell");
  compare_random_nodes({&a30, &a30}, gpu::ProfileSet::kAll, 600);
  compare_random_nodes({&rtx, &rtx}, gpu::ProfileSet::kAll, 600);
  compare_random_nodes({&a30, &rtx}, gpu::ProfileSet::kAll, 300);
}

TEST(Defragmentation, OneGsAtZeroOneFive_OneMoveFitsThreeG) {
  // Aim: the example of the issue.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100,
                        0,
                        {{"1g.5gb", 0, Hold::kBusy, true, "job 1"},
                         {"1g.5gb", 1, Hold::kBusy, true, "job 2"},
                         {"1g.5gb", 5, Hold::kBusy, true, "job 3"}})};
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto answer = defragment(node, one_of(a100, test::profile(a100, "3g.20gb")), budget);
  ASSERT_TRUE(answer.has_value());
  ASSERT_EQ(answer->moves.size(), 1U);
  EXPECT_EQ(answer->moves[0].from.start, MemorySlices(5));
  EXPECT_THAT(answer->moves[0].text, HasSubstr("1g.5gb@5 (job 3) on GPU 0 -> 1g.5gb@"));
  EXPECT_FALSE(answer->moves[0].needs_stop_first);
  EXPECT_TRUE(answer->certificate.is_optimal);
}

TEST(Defragmentation, ImmovableInstance_IsNamed) {
  // Aim: a foreign instance is never moved, even if flagged; the answer names it.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 3, {{"1g.5gb", 5, Hold::kForeign, true, "operator"}})};
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto answer = defragment(node, one_of(a100, test::profile(a100, "7g.40gb")), budget);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(answer.error().message, HasSubstr("on GPU 3 7g.40gb@0 is blocked by 1g.5gb@5"));
}

TEST(Defragmentation, NoRequestNamed_TakesLargestThatCanBeGained) {
  // Aim: 7g is out of reach, 4g is gained; larger refusals are told.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(
      a100,
      0,
      {{"1g.5gb", 2, Hold::kBusy, true, "job 1"}, {"1g.5gb", 6, Hold::kBusy, false, "job 2"}})};
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto largest = defragment_for_largest(node, budget);
  ASSERT_TRUE(largest.has_value());
  EXPECT_EQ(largest->answer.request.items.front().text, "4g.20gb");
  EXPECT_EQ(largest->answer.moves.size(), 1U);
  ASSERT_EQ(largest->refused.size(), 1U);
  EXPECT_THAT(largest->refused.front(), HasSubstr("7g.40gb"));
}

TEST(Defragmentation, EverythingFitsAlready_NeedsNoMoves) {
  // Aim: on a fresh GPU the largest profile fits without a move.
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto largest = defragment_for_largest(test::fresh_node(geometry("A100-40GB"), 1), budget);
  ASSERT_TRUE(largest.has_value());
  EXPECT_TRUE(largest->answer.moves.empty());
  EXPECT_EQ(largest->answer.targets.size(), 1U);
}

TEST(Defragmentation, FullSwap_IsMarkedStopFirst) {
  // Aim: moves that wait for each other say which job has to stop before anything is created.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100,
                        0,
                        {{"3g.20gb", 0, Hold::kBusy, true, "job 1"},
                         {"3g.20gb", 4, Hold::kBusy, false, "job 2"}}),
               gpu_with(a100,
                        1,
                        {{"4g.20gb", 0, Hold::kBusy, false, "job 3"},
                         {"1g.5gb", 4, Hold::kBusy, true, "job 4"},
                         {"1g.5gb", 5, Hold::kBusy, true, "job 5"},
                         {"1g.5gb", 6, Hold::kBusy, true, "job 6"}})};
  RequestList request = one_of(a100, test::profile(a100, "1g.5gb"));
  request.items.front().readings.front().instance.start = MemorySlices(0);
  WorkBudget budget(kDefragmentationUnitsMax);
  const auto answer = defragment(node, request, budget);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->moves.size(), 4U);
  EXPECT_EQ(std::ranges::count(answer->moves, true, &InstanceMove::needs_stop_first), 1);
  expect_doable(node, *answer);
}

}  // namespace
}  // namespace septule::optimize
