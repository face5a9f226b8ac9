#include "optimize/instance_packing.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "support/node_builder.hpp"

namespace septule::optimize {
namespace {

using Key = std::vector<std::int64_t>;
using test::fresh_node;
using test::geometry;
using test::gpu_with;
using ::testing::HasSubstr;

RequestList request_on(const gpu::Inventory& inventory, std::string_view text) {
  auto list = read_request(geometries_of(inventory), text);
  SEPTULE_CHECK(list.has_value(), "tests ask for profiles that exist");
  return *list;
}

Result<InstancePacking> pack(const gpu::Inventory& inventory,
                             std::string_view text,
                             PackingPolicy policy = PackingPolicy::kPack) {
  WorkBudget budget(kPackingUnitsMax);
  return pack_instances(inventory, {request_on(inventory, text), policy}, budget);
}

// Every request at every place of every GPU, every set of idle instances destroyed; finished cuts
// are judged by the partition checker alone.
class BruteForce {
 public:
  BruteForce(const gpu::Inventory& inventory, const RequestList& request, PackingPolicy policy)
      : inventory_(inventory), policy_(policy), chosen_(inventory.gpus.size()) {
    for (const RequestedInstances& item : request.items) {
      for (int copy = 0; copy < item.count; ++copy) {
        wanted_.push_back(&item);
      }
    }
  }

  std::optional<Key> run() {
    place(0);
    return best_;
  }

 private:
  static bool is_idle(const gpu::ObservedInstance& instance) {
    return instance.effective_hold() == gpu::Hold::kIdle;
  }

  void place(std::size_t i) {
    if (i == wanted_.size()) {
      judge();
      return;
    }
    for (std::size_t gpu = 0; gpu < inventory_.gpus.size(); ++gpu) {
      const gpu::Geometry& geometry = *inventory_.gpus[gpu].geometry;
      const gpu::InstanceRequest* reading = wanted_[i]->on(geometry);
      if (reading == nullptr) {
        continue;
      }
      for (const gpu::Placement& place : geometry.profile(reading->profile).placements) {
        if ((reading->start && *reading->start != place.start) || is_taken(gpu, place)) {
          continue;
        }
        chosen_[gpu].push_back({reading->profile, place.start});
        this->place(i + 1);
        chosen_[gpu].pop_back();
      }
    }
  }

  bool is_taken(std::size_t gpu, const gpu::Placement& place) const {
    const gpu::Geometry& geometry = *inventory_.gpus[gpu].geometry;
    for (const gpu::PlacedProfile& other : chosen_[gpu]) {
      if (gpu::placement_of(geometry, other).overlaps(place)) {
        return true;
      }
    }
    for (const gpu::ObservedInstance& other : inventory_.gpus[gpu].instances) {
      if (!is_idle(other) && gpu::placement_of(geometry, other.placed).overlaps(place)) {
        return true;
      }
    }
    return false;
  }

  // The fewest idle instances to destroy on one GPU, with as many reused as possible.
  std::optional<std::pair<int, int>> cost_on(std::size_t gpu) const {
    const gpu::ObservedGpu& seen = inventory_.gpus[gpu];
    std::vector<gpu::PlacedProfile> idle;
    std::vector<gpu::PlacedProfile> held;
    for (const gpu::ObservedInstance& instance : seen.instances) {
      (is_idle(instance) ? idle : held).push_back(instance.placed);
    }
    std::optional<std::pair<int, int>> best;
    for (unsigned mask = 0; mask < (1U << idle.size()); ++mask) {
      gpu::Layout layout = held;
      int created = static_cast<int>(chosen_[gpu].size());
      int destroyed = 0;
      layout.insert(layout.end(), chosen_[gpu].begin(), chosen_[gpu].end());
      for (std::size_t i = 0; i < idle.size(); ++i) {
        if ((mask >> i & 1U) != 0) {
          ++destroyed;
        } else if (std::ranges::find(chosen_[gpu], idle[i]) != chosen_[gpu].end()) {
          --created;
        } else {
          layout.push_back(idle[i]);
        }
      }
      const gpu::Partition cut = gpu::partition_with_full_instances(*seen.geometry, layout);
      if (gpu::check_partition(*seen.geometry, cut).empty()) {
        const std::pair<int, int> cost{destroyed, created};
        best = best ? std::min(*best, cost) : cost;
      }
    }
    return best;
  }

  void judge() {
    Key key(4, 0);
    std::size_t largest = 0;
    int used = 0;
    for (std::size_t gpu = 0; gpu < chosen_.size(); ++gpu) {
      const std::size_t load = chosen_[gpu].size();
      if (load == 0) {
        continue;
      }
      ++used;
      largest = std::max(largest, load);
      const auto cost = cost_on(gpu);
      if (!cost) {
        return;
      }
      const auto& instances = inventory_.gpus[gpu].instances;
      const bool is_open = !std::ranges::all_of(instances, is_idle);
      key[0] += cost->first;
      key[2] += policy_ == PackingPolicy::kSpread ? static_cast<std::int64_t>(load * load)
                                                  : (is_open ? 0 : 1);
      key[3] += cost->second;
    }
    key[1] = policy_ == PackingPolicy::kSpread ? static_cast<std::int64_t>(largest) : 0;
    if ((policy_ == PackingPolicy::kSameGpu && used > 1) ||
        (policy_ == PackingPolicy::kDistinctGpu && largest > 1)) {
      return;
    }
    best_ = best_ ? std::min(*best_, key) : key;
  }

  const gpu::Inventory& inventory_;
  PackingPolicy policy_;
  std::vector<const RequestedInstances*> wanted_;
  std::vector<gpu::Layout> chosen_;
  std::optional<Key> best_;
};

Key key_of(const InstancePacking& packing, PackingPolicy policy) {
  std::map<int, std::int64_t> loads;
  for (const PackedInstance& packed : packing.packed) {
    ++loads[packed.gpu.value()];
  }
  std::int64_t squares = 0;
  for (const auto& [gpu, load] : loads) {
    squares += load * load;
  }
  const bool is_spread = policy == PackingPolicy::kSpread;
  return {static_cast<std::int64_t>(packing.destroyed.size()),
          is_spread ? packing.load_max : 0,
          is_spread ? squares : packing.gpus_opened,
          packing.created};
}

// An answer must hold together whatever its quality: everything asked for is there, held instances
// stay where they are, and every desired cut is legal.
void expect_sound(const gpu::Inventory& inventory,
                  const RequestList& request,
                  const InstancePacking& packing) {
  ASSERT_EQ(packing.packed.size(), static_cast<std::size_t>(request.instance_count()));
  std::set<std::pair<std::size_t, int>> members;
  for (const PackedInstance& packed : packing.packed) {
    members.emplace(packed.item, packed.copy);
    const auto desired = std::ranges::find(packing.desired, packed.gpu, &gpu::DesiredGpu::index);
    ASSERT_NE(desired, packing.desired.end());
    EXPECT_EQ(std::ranges::count(desired->partition.instances, packed.instance), 1);
  }
  EXPECT_EQ(members.size(), packing.packed.size());
  for (const gpu::DesiredGpu& desired : packing.desired) {
    const auto seen = std::ranges::find(inventory.gpus, desired.index, &gpu::ObservedGpu::index);
    ASSERT_NE(seen, inventory.gpus.end());
    EXPECT_TRUE(gpu::check_partition(*seen->geometry, desired.partition).empty());
    const gpu::Layout layout = gpu::layout_of(desired.partition);
    std::size_t kept = 0;
    for (const gpu::ObservedInstance& instance : seen->instances) {
      const bool is_there = std::ranges::find(layout, instance.placed) != layout.end();
      kept += is_there ? 1 : 0;
      if (instance.effective_hold() != gpu::Hold::kIdle) {
        EXPECT_TRUE(is_there);
      }
    }
    const auto lost = std::ranges::count(packing.destroyed, desired.index, &DestroyedInstance::gpu);
    EXPECT_EQ(kept + static_cast<std::size_t>(lost), seen->instances.size());
  }
}

// A random node state: a random legal layout per GPU with random holds.
gpu::Inventory random_node(std::mt19937& random,
                           const std::vector<const gpu::Geometry*>& models,
                           gpu::ProfileSet set) {
  gpu::Inventory inventory;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::vector<gpu::Layout> layouts;
    gpu::for_each_layout(
        *models[i], models[i]->profiles_in(set), {}, [&](const gpu::Layout& layout, bool) {
          layouts.push_back(layout);
        });
    gpu::ObservedGpu gpu = gpu_with(*models[i], static_cast<int>(i));
    for (const gpu::PlacedProfile& placed : layouts[random() % layouts.size()]) {
      const auto hold = random() % 5;
      gpu::ObservedInstance instance;
      instance.placed = placed;
      instance.hold = hold < 2   ? gpu::Hold::kIdle
                      : hold < 4 ? gpu::Hold::kBusy
                                 : gpu::Hold::kForeign;
      if (random() % 4 != 0) {
        gpu.instances.push_back(instance);
      }
    }
    inventory.gpus.push_back(gpu);
  }
  return inventory;
}

RequestList random_request(std::mt19937& random,
                           const gpu::Inventory& inventory,
                           gpu::ProfileSet set,
                           int count_max) {
  const std::vector<const gpu::Geometry*> models = geometries_of(inventory);
  RequestList list;
  const int count = 1 + static_cast<int>(random() % static_cast<unsigned>(count_max));
  for (int i = 0; i < count; ++i) {
    RequestedInstances item;
    for (const gpu::Geometry* model : models) {
      const std::vector<ProfileIndex> profiles = model->profiles_in(set);
      RequestedInstances one = request_for(*model, profiles[random() % profiles.size()]);
      gpu::InstanceRequest& reading = one.readings.front().instance;
      if (random() % 5 == 0) {
        const auto& places = model->profile(reading.profile).placements;
        reading.start = places[random() % places.size()].start;
      }
      if (models.size() == 1 || random() % 4 != 0 || &*model == models.front()) {
        item.readings.push_back(one.readings.front());
        item.text = one.text;
      }
    }
    list.items.push_back(item);
  }
  return list;
}

constexpr PackingPolicy kPolicies[] = {PackingPolicy::kPack,
                                       PackingPolicy::kSpread,
                                       PackingPolicy::kSameGpu,
                                       PackingPolicy::kDistinctGpu};

void compare_with_brute_force(unsigned seed,
                              const std::vector<const gpu::Geometry*>& models,
                              gpu::ProfileSet set,
                              int runs,
                              int count_max) {
  std::mt19937 random(seed);
  int possible = 0;
  for (int run = 0; run < runs; ++run) {
    const gpu::Inventory inventory = random_node(random, models, set);
    const RequestList request = random_request(random, inventory, set, count_max);
    const PackingPolicy policy = kPolicies[run % 4];
    SCOPED_TRACE(testing::Message() << "run " << run << ", " << packing_policy_name(policy));
    const std::optional<Key> expected = BruteForce(inventory, request, policy).run();
    WorkBudget budget(kPackingUnitsMax);
    const auto packing = pack_instances(inventory, {request, policy}, budget);
    ASSERT_EQ(packing.has_value(), expected.has_value());
    if (!packing) {
      EXPECT_EQ(packing.error().code, ErrorCode::kBlocked);
      continue;
    }
    ++possible;
    EXPECT_EQ(key_of(*packing, policy), *expected);
    EXPECT_TRUE(packing->certificate.is_optimal);
    for (const PackingKey& key : packing->certificate.keys) {
      EXPECT_EQ(key.value, key.lower_bound) << key.name;
    }
    expect_sound(inventory, request, *packing);
  }
  EXPECT_GT(possible, runs / 10);
}

TEST(InstancePacking, RandomA100States_EqualsBruteForce) {
  // Aim: every policy is exact on mixed states of two A100, given starts included.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  compare_with_brute_force(1, {&a100, &a100}, gpu::ProfileSet::kPlain, 1500, 4);
}

TEST(InstancePacking, RandomA100AllProfiles_EqualsBruteForce) {
  // Aim: double-memory and +me profiles with their maxima are exact too.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  compare_with_brute_force(2, {&a100, &a100}, gpu::ProfileSet::kAll, 800, 4);
}

TEST(InstancePacking, RandomA30States_EqualsBruteForce) {
  // Aim: three small GPUs and five requests.
  const gpu::Geometry& a30 = geometry("A30-24GB");
  compare_with_brute_force(3, {&a30, &a30, &a30}, gpu::ProfileSet::kAll, 600, 5);
}

TEST(InstancePacking, RandomRtxStates_EqualsBruteForce) {
  // Aim: engine budgets bind here; idle instances may have to go for an engine alone.
  const gpu::Geometry& rtx = geometry("RTX-PRO-6000-Blackwell");
  compare_with_brute_force(4, {&rtx, &rtx}, gpu::ProfileSet::kAll, 800, 4);
}

TEST(InstancePacking, RandomMixedModels_EqualsBruteForce) {
  // Aim: a request that means another profile on each model, or none.
  compare_with_brute_force(
      5, {&geometry("A100-40GB"), &geometry("A30-24GB")}, gpu::ProfileSet::kPlain, 300, 4);
}

TEST(InstancePacking, FreshGpus_UsesFewestGpus) {
  // Aim: 4g + 3g share a GPU; seven 1g fill one; the certificate closes.
  const gpu::Inventory node = fresh_node(geometry("A100-40GB"), 8);
  const auto packing = pack(node, "4x4g.20gb,4x3g.20gb,7x1g.5gb");
  ASSERT_TRUE(packing.has_value());
  EXPECT_EQ(packing->gpus_used, 5);
  EXPECT_TRUE(packing->certificate.is_optimal);
  EXPECT_EQ(packing->desired.size(), 5U);
  EXPECT_EQ(packing->desired.back().index, GpuIndex(4));
}

TEST(InstancePacking, MatchingIdleInstance_IsReused) {
  // Aim: an idle 3g answers a 3g; nothing is created or destroyed.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0), gpu_with(a100, 1, {{"3g.20gb", 4}, {"1g.5gb", 0}})};
  const auto packing = pack(node, "3g.20gb");
  ASSERT_TRUE(packing.has_value());
  EXPECT_TRUE(packing->packed.front().is_reused);
  EXPECT_EQ(packing->packed.front().gpu, GpuIndex(1));
  EXPECT_EQ(packing->created, 0);
  EXPECT_TRUE(packing->destroyed.empty());
}

TEST(InstancePacking, OtherComputeInstances_AreRecut) {
  // Aim: an idle instance whose compute instances differ is kept and cut anew inside.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0, {{"3g.20gb", 4}, {"4g.20gb", 0, gpu::Hold::kBusy}})};
  node.gpus[0].instances[0].compute_instances.emplace();
  const auto packing = pack(node, "3g.20gb[1c,1c,1c]");
  ASSERT_TRUE(packing.has_value());
  EXPECT_TRUE(packing->packed.front().is_recut);
  EXPECT_EQ(packing->packed.front().instance.compute_instances.size(), 3U);
  EXPECT_TRUE(packing->destroyed.empty());
}

TEST(InstancePacking, TooManyOfOneKind_NamesDemandCapacityAndHolder) {
  // Aim: the reason says which profile, how many would fit, and who holds what.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0, {{"1g.5gb", 5, gpu::Hold::kBusy, false, "job 17"}})};
  const auto packing = pack(node, "2x3g.20gb");
  ASSERT_FALSE(packing.has_value());
  EXPECT_EQ(packing.error().code, ErrorCode::kBlocked);
  EXPECT_THAT(packing.error().message, HasSubstr("2 x 3g.20gb are asked for, at most 1"));
  EXPECT_THAT(packing.error().message, HasSubstr("job 17"));
}

TEST(InstancePacking, EmptyRequest_NeedsNothing) {
  // Aim: asking for nothing is answered with nothing under every policy.
  const gpu::Inventory node = fresh_node(geometry("A30-24GB"), 2);
  for (const PackingPolicy policy : kPolicies) {
    const auto packing = pack(node, "empty", policy);
    ASSERT_TRUE(packing.has_value());
    EXPECT_TRUE(packing->packed.empty());
    EXPECT_TRUE(packing->desired.empty());
  }
}

TEST(InstancePacking, NoGpus_IsInvalidInput) {
  // Aim: an empty node is told apart from a full one.
  WorkBudget budget(kPackingUnitsMax);
  const auto packing = pack_instances({}, {}, budget);
  ASSERT_FALSE(packing.has_value());
  EXPECT_EQ(packing.error().code, ErrorCode::kInvalidInput);
}

TEST(InstancePacking, NoBudget_SaysSo) {
  // Aim: without work units the answer is "not known", never "impossible".
  const gpu::Inventory node = fresh_node(geometry("A100-40GB"), 2);
  WorkBudget budget(0);
  const auto packing = pack_instances(node, {request_on(node, "3x3g.20gb"), {}}, budget);
  ASSERT_FALSE(packing.has_value());
  EXPECT_EQ(packing.error().code, ErrorCode::kTimedOut);
}

TEST(InstancePacking, TextOnMixedNode_IsReadPerModel) {
  // Aim: "2g" is 2g.10gb on A100 and 2g.12gb on A30; a name of one model goes there only.
  gpu::Inventory node;
  node.gpus = {gpu_with(geometry("A30-24GB"), 0), gpu_with(geometry("A100-40GB"), 1)};
  const auto packing = pack(node, "3g.20gb,3x2g,smallest");
  ASSERT_TRUE(packing.has_value()) << packing.error().message;
  EXPECT_EQ(packing->packed.front().gpu, GpuIndex(1));
  EXPECT_EQ(packing->packed.size(), 5U);
  EXPECT_FALSE(read_request(geometries_of(node), "9g.90gb").has_value());
}

TEST(InstancePacking, MigOff_IsNotUsedAndSaid) {
  // Aim: a GPU with MIG off is no place, and the message says so.
  gpu::Inventory node = fresh_node(geometry("A100-40GB"), 1);
  node.gpus[0].is_mig_enabled = false;
  const auto packing = pack(node, "1g.5gb");
  ASSERT_FALSE(packing.has_value());
  EXPECT_THAT(packing.error().message, HasSubstr("GPU 0 has MIG off"));
}

TEST(InstancePacking, ImpossibleObservedPlacement_IsNotUsedAndSaid) {
  // Aim: a state that the catalogue does not allow stops neither the program nor the other GPUs.
  const gpu::Geometry& a100 = geometry("A100-40GB");
  gpu::Inventory node;
  node.gpus = {gpu_with(a100, 0, {{"3g.20gb", 3, gpu::Hold::kBusy}})};
  const auto packing = pack(node, "1g.5gb");
  ASSERT_FALSE(packing.has_value());
  EXPECT_THAT(packing.error().message, HasSubstr("does not allow together"));
  node.gpus.push_back(gpu_with(a100, 1));
  EXPECT_TRUE(pack(node, "1g.5gb").has_value());
}

TEST(InstancePacking, FullRequestOnSixtyFourGpus_IsProven) {
  // Aim: 64 fresh GPUs and 448 mixed requests close with a proof.
  const gpu::Inventory node = fresh_node(geometry("A100-40GB"), 64);
  for (const char* text : {"448x1g.5gb",
                           "16x4g.20gb,32x3g.20gb,40x2g.10gb,120x1g.5gb",
                           "10x7g.40gb,13x4g.20gb,17x3g.20gb,31x2g.10gb,77x1g.5gb"}) {
    const auto packing = pack(node, text);
    ASSERT_TRUE(packing.has_value()) << text << ": " << packing.error().message;
    EXPECT_TRUE(packing->certificate.is_optimal) << text;
    const auto spread = pack(node, text, PackingPolicy::kSpread);
    ASSERT_TRUE(spread.has_value());
    EXPECT_TRUE(spread->certificate.is_optimal) << text;
  }
}

}  // namespace
}  // namespace septule::optimize
