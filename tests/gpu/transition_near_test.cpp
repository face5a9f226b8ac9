// place_near() of gpu/transition.hpp, implemented in transition_near.cpp.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/partition_checker.hpp"
#include "gpu/transition.hpp"
#include "gpu/transition_support.hpp"

namespace septule::gpu {
namespace {

using test::compute;
using test::draw;
using test::draw_hold;
using test::geometry_of;
using test::kStride;
using test::legal_layouts;
using test::observed;
using test::observed_gpu;
using test::placed;
using testing::HasSubstr;

/// Held in the way, destroyed, created, held compute instances in the way, compute changes.
using Cost = std::array<int, 5>;

bool is_legal_with(const Geometry& geometry, Layout layout, const PlacedProfile& more) {
  layout.push_back(more);
  Partition partition;
  for (const PlacedProfile& one : layout) {
    partition.instances.push_back({.placed = one, .compute_instances = {}});
  }
  return check_partition(geometry, partition).empty();
}

const ObservedInstance* seen_at(const ObservedGpu& gpu, const PlacedProfile& place) {
  const auto found = std::ranges::find(gpu.instances, place, &ObservedInstance::placed);
  return found == gpu.instances.end() ? nullptr : &*found;
}

Cost layout_cost(const ObservedGpu& gpu, const Layout& layout) {
  Cost cost{};
  for (const ObservedInstance& seen : gpu.instances) {
    if (std::ranges::find(layout, seen.placed) == layout.end()) {
      if (seen.effective_hold() == Hold::kIdle) {
        cost[1] += 1;
      } else {
        cost[0] += is_legal_with(*gpu.geometry, layout, seen.placed) ? 0 : 1;
      }
    }
  }
  for (const PlacedProfile& place : layout) {
    cost[2] += seen_at(gpu, place) == nullptr ? 1 : 0;
  }
  return cost;
}

/// What changing the compute instances of a kept instance costs, added to `cost`.
void add_compute_cost(const ObservedGpu& gpu, const GpuInstance& end, Cost& cost) {
  const ObservedInstance* seen = seen_at(gpu, end.placed);
  if (seen == nullptr) {
    return;
  }
  for (const ComputeInstance& inside : end.compute_instances) {
    cost[4] +=
        std::ranges::find(*seen->compute_instances, inside, &ObservedComputeInstance::instance) ==
                seen->compute_instances->end()
            ? 1
            : 0;
  }
  for (const ObservedComputeInstance& old : *seen->compute_instances) {
    if (std::ranges::find(end.compute_instances, old.instance) != end.compute_instances.end()) {
      continue;
    }
    if (old.hold == Hold::kIdle) {
      cost[4] += 1;
    } else {
      cost[3] += std::ranges::any_of(end.compute_instances,
                                     [&](const ComputeInstance& inside) {
                                       return inside.placement.overlaps(old.instance.placement);
                                     })
                     ? 1
                     : 0;
    }
  }
}

/// Every way to fill one instance so that it answers one request.
std::vector<GpuInstance> ways_to_fill(const ObservedGpu& gpu,
                                      const InstanceRequest& wanted,
                                      const PlacedProfile& place) {
  const Geometry& geometry = *gpu.geometry;
  std::vector<GpuInstance> ways;
  if (!wanted.compute_instances.has_value()) {
    GpuInstance own{.placed = place, .compute_instances = {}};
    if (const ObservedInstance* seen = seen_at(gpu, place)) {
      for (const ObservedComputeInstance& inside : *seen->compute_instances) {
        own.compute_instances.push_back(inside.instance);
      }
    }
    if (own.compute_instances.empty()) {
      own.compute_instances.push_back(full_compute_instance(geometry, place.profile));
    }
    return {own};
  }
  for_each_compute_layout(
      geometry, place.profile, [&](std::span<const ComputeInstance> inside, bool) {
        std::vector<ComputeInstance> open(inside.begin(), inside.end());
        auto requests = *wanted.compute_instances;
        std::ranges::sort(requests, {}, [](const auto& one) { return !one.start.has_value(); });
        for (const auto& one : requests) {
          const auto found = std::ranges::find_if(open, [&](const ComputeInstance& instance) {
            return instance.placement.size == one.size &&
                   (!one.start.has_value() || instance.placement.start == *one.start);
          });
          if (found == open.end()) {
            return;
          }
          open.erase(found);
        }
        if (open.empty()) {
          ways.push_back({.placed = place, .compute_instances = {inside.begin(), inside.end()}});
        }
      });
  return ways;
}

/// The least cost over all layouts and all ways to hand places to requests; also checks whether
/// `found` is one of the ways.
std::optional<Cost> least_cost(const ObservedGpu& gpu,
                               const std::vector<Layout>& layouts,
                               const LayoutRequest& request,
                               const Partition* found,
                               bool& is_answer) {
  std::optional<Cost> least;
  is_answer = false;
  for (const Layout& layout : layouts) {
    if (layout.size() != request.instances.size()) {
      continue;
    }
    const Cost base = layout_cost(gpu, layout);
    std::vector<std::size_t> order(layout.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    do {
      Cost cost = base;
      bool is_possible = true;
      bool is_found = found != nullptr && layout_of(*found) == layout;
      for (std::size_t i = 0; i < order.size() && is_possible; ++i) {
        const InstanceRequest& wanted = request.instances[i];
        const PlacedProfile& place = layout[order[i]];
        is_possible = wanted.profile == place.profile &&
                      (!wanted.start.has_value() || *wanted.start == place.start);
        if (!is_possible) {
          break;
        }
        std::optional<Cost> best;
        bool is_fill_found = false;
        for (const GpuInstance& way : ways_to_fill(gpu, wanted, place)) {
          Cost own{};
          add_compute_cost(gpu, way, own);
          best = best.has_value() ? std::min(*best, own) : own;
          is_fill_found = is_fill_found || (is_found && found->instances[order[i]] == way);
        }
        is_found = is_found && is_fill_found;
        is_possible = best.has_value();
        if (is_possible) {
          cost[3] += (*best)[3];
          cost[4] += (*best)[4];
        }
      }
      if (is_possible) {
        is_answer = is_answer || is_found;
        least = least.has_value() ? std::min(*least, cost) : cost;
      }
    } while (std::ranges::next_permutation(order).found);
  }
  return least;
}

Cost cost_of(const ObservedGpu& gpu, const Partition& partition) {
  Cost cost = layout_cost(gpu, layout_of(partition));
  for (const GpuInstance& instance : partition.instances) {
    add_compute_cost(gpu, instance, cost);
  }
  return cost;
}

InstanceRequest request_for(ProfileIndex profile) {
  InstanceRequest wanted;
  wanted.profile = profile;
  return wanted;
}

void expect_nearest(const ObservedGpu& gpu,
                    const std::vector<Layout>& layouts,
                    const LayoutRequest& request) {
  const Result<Partition> found = place_near(gpu, request);
  bool is_answer = false;
  const std::optional<Cost> least =
      least_cost(gpu, layouts, request, found ? &found.value() : nullptr, is_answer);
  ASSERT_EQ(found.has_value(), least.has_value());
  if (found.has_value()) {
    ASSERT_TRUE(is_answer) << partition_text(*gpu.geometry, *found);
    ASSERT_EQ(cost_of(gpu, *found), *least) << partition_text(*gpu.geometry, *found);
  } else {
    // Compute instances that fit no instance of the profile are invalid, the rest is blocked.
    ASSERT_TRUE(found.error().code == ErrorCode::kBlocked ||
                found.error().code == ErrorCode::kInvalidInput);
  }
}

TEST(TransitionNear_Exhaustive, EveryA100StateAndRequest_IsAsCheapAsBruteForce) {
  // Aim: all 298 plain states (random holds) with all 38 requests without places: the cost equals
  // the least over all layouts, found by brute force with the independent judge.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto layouts = legal_layouts(geometry, ProfileSet::kPlain);
  std::map<std::vector<ProfileIndex>, std::vector<Layout>> by_request;
  for (const Layout& layout : layouts) {
    std::vector<ProfileIndex> profiles;
    for (const PlacedProfile& one : layout) {
      profiles.push_back(one.profile);
    }
    std::ranges::sort(profiles);
    by_request[profiles].push_back(layout);
  }
  ASSERT_EQ(by_request.size(), 38U);
  std::mt19937 rng(7);
  for (std::size_t i = 0; i < layouts.size(); i += kStride) {
    const Layout& now = layouts[i];
    ObservedGpu gpu = observed_gpu(geometry, {});
    for (const PlacedProfile& one : now) {
      gpu.instances.push_back(observed(geometry, one, draw_hold(rng, 40)));
    }
    for (const auto& [profiles, answers] : by_request) {
      LayoutRequest request;
      for (const ProfileIndex profile : profiles) {
        request.instances.push_back(request_for(profile));
      }
      const Result<Partition> found = place_near(gpu, request);
      ASSERT_TRUE(found.has_value());
      // Layouts come in canonical order: the first of least cost is the answer.
      const auto best = std::ranges::min_element(
          answers, {}, [&](const Layout& layout) { return layout_cost(gpu, layout); });
      ASSERT_EQ(layout_of(*found), *best)
          << partition_text(geometry, gpu.partition()) << " asked for "
          << partition_text(geometry, partition_with_full_instances(geometry, *best));
    }
  }
}

TEST(TransitionNear_Sampled, RequestsWithPlacesAndComputeInstances_AreAsCheapAsBruteForce) {
  // Aim: random starts and compute instances in the request, random compute instances and holds in
  // the state; the answer answers the request, and no other is cheaper.
  const Geometry& geometry = geometry_of("A100-40GB");
  const auto layouts = legal_layouts(geometry, ProfileSet::kDouble);
  std::vector<Layout> small;
  std::ranges::copy_if(
      layouts, std::back_inserter(small), [](const Layout& layout) { return layout.size() <= 4; });
  std::mt19937 rng(8);
  for (int i = 0; i < 1500 / kStride; ++i) {
    ObservedGpu gpu = observed_gpu(geometry, {});
    // Half of the requests are for what is there, so that re-cuts are frequent.
    const bool is_same = draw(rng, 2) == 0;
    const Layout& asked = small[draw(rng, small.size())];
    const Layout& now = is_same ? asked : layouts[draw(rng, layouts.size())];
    for (const PlacedProfile& one : now) {
      ObservedInstance instance = observed(geometry, one, draw_hold(rng, 20));
      std::vector<std::vector<ComputeInstance>> sets;
      for_each_compute_layout(
          geometry, one.profile, [&](std::span<const ComputeInstance> inside, bool) {
            sets.emplace_back(inside.begin(), inside.end());
          });
      instance.compute_instances.emplace();
      for (const ComputeInstance& inside : sets[draw(rng, sets.size())]) {
        instance.compute_instances->push_back(observed(inside, draw_hold(rng, 20)));
      }
      gpu.instances.push_back(instance);
    }
    LayoutRequest request;
    for (const PlacedProfile& one : asked) {
      InstanceRequest wanted = request_for(one.profile);
      if (draw(rng, 3) == 0) {
        wanted.start = one.start;
      }
      if (draw(rng, 2) == 0) {
        wanted.compute_instances.emplace();
        for (std::size_t k = draw(rng, 3); k > 0; --k) {
          wanted.compute_instances->push_back(
              {.size = ComputeSlices(static_cast<int>(draw(rng, 2)) + 1), .start = std::nullopt});
        }
      }
      request.instances.push_back(wanted);
    }
    expect_nearest(gpu, small, request);
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(TransitionNear_Rules, BusyInstance_PushesTheRequestToTheOtherHalf) {
  // Aim: 3g goes to 4 because a busy 1g stands at 0, although an idle 2g at 4 must go for it.
  const Geometry& geometry = geometry_of("A100-40GB");
  const ObservedGpu gpu =
      observed_gpu(geometry,
                   {observed(geometry, placed(geometry, "1g.5gb", 0), Hold::kBusy, "job 1"),
                    observed(geometry, placed(geometry, "2g.10gb", 4))});
  const auto request = parse_layout_request(geometry, "3g.20gb");
  ASSERT_TRUE(request.has_value());
  const auto found = place_near(gpu, *request);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(partition_text(geometry, *found), "3g.20gb@4");
}

TEST(TransitionNear_Rules, KeptInstance_KeepsItsComputeInstancesUnlessAskedOtherwise) {
  // Aim: what the user did not speak of is not re-cut; an instance without any gets a full one.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance cut = observed(geometry, placed(geometry, "3g.20gb", 4));
  cut.compute_instances = {observed(compute(0, 1)), observed(compute(1, 1))};
  const auto text_for = [&](std::string_view asked) {
    const auto request = parse_layout_request(geometry, asked);
    SEPTULE_CHECK(request.has_value(), "the test asks for something valid");
    const auto found = place_near(observed_gpu(geometry, {cut}), *request);
    SEPTULE_CHECK(found.has_value(), "the test asks for something possible");
    return partition_text(geometry, *found);
  };
  EXPECT_EQ(text_for("3g.20gb"), "3g.20gb@4[1c@0,1c@1]");
  EXPECT_EQ(text_for("3g.20gb[3c]"), "3g.20gb@4");
  EXPECT_EQ(text_for("3g.20gb[1c,1c,1c]"), "3g.20gb@4[1c@0,1c@1,1c@2]");
  EXPECT_EQ(text_for("3g.20gb@0"), "3g.20gb@0");
  EXPECT_EQ(text_for("3g.20gb[3c],3g.20gb[1c,1c]"), "3g.20gb@0,3g.20gb@4[1c@0,1c@1]");
  cut.compute_instances = std::vector<ObservedComputeInstance>();
  EXPECT_EQ(text_for("3g.20gb"), "3g.20gb@4");
  cut.compute_instances.reset();
  EXPECT_EQ(text_for("3g.20gb"), "3g.20gb@4");
}

TEST(TransitionNear_Rules, BusyComputeInstance_PushesComputeInstancesBesideIt) {
  // Aim: 2c goes to 2 because a busy 1c stands at 0.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedInstance cut = observed(geometry, placed(geometry, "4g.20gb", 0));
  cut.compute_instances = {observed(compute(0, 1), Hold::kBusy, "job 1")};
  const auto request = parse_layout_request(geometry, "4g.20gb[2c]");
  ASSERT_TRUE(request.has_value());
  const auto found = place_near(observed_gpu(geometry, {cut}), *request);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(partition_text(geometry, *found), "4g.20gb@0[2c@2]");
}

TEST(TransitionNear_Errors, ImpossibleRequests_SayWhy) {
  // Aim: too much, the same place twice, an illegal state.
  const Geometry& geometry = geometry_of("A100-40GB");
  ObservedGpu gpu = observed_gpu(geometry, {});
  LayoutRequest request;
  request.instances = {request_for(placed(geometry, "4g.20gb", 0).profile),
                       request_for(placed(geometry, "4g.20gb", 0).profile)};
  auto found = place_near(gpu, request);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kBlocked);
  request.instances = {request_for(placed(geometry, "1g.5gb", 0).profile),
                       request_for(placed(geometry, "1g.5gb", 0).profile)};
  request.instances[0].start = MemorySlices(3);
  request.instances[1].start = MemorySlices(3);
  found = place_near(gpu, request);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kBlocked);
  gpu.instances = {observed(geometry, placed(geometry, "1g.5gb", 0)),
                   observed(geometry, placed(geometry, "1g.5gb", 0))};
  found = place_near(gpu, LayoutRequest());
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().code, ErrorCode::kInvalidInput);
  EXPECT_THAT(found.error().message, HasSubstr("GPU 0: the current state is not a legal layout"));
}

}  // namespace
}  // namespace septule::gpu
