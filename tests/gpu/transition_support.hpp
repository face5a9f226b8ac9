#pragma once

#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/check.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout.hpp"
#include "gpu/partition.hpp"
#include "gpu/toy_device.hpp"
#include "gpu/transition.hpp"

namespace septule::gpu::test {

inline const Catalogue& catalogue() {
  static const Catalogue loaded = load_builtin_catalogue();
  return loaded;
}

inline const LatencyTable& latencies() {
  static const LatencyTable loaded = load_builtin_latencies();
  return loaded;
}

inline const Geometry& geometry_of(std::string_view key) {
  const Result<const Geometry*> found = catalogue().find(key);
  SEPTULE_CHECK(found.has_value(), "tests name known GPUs");
  return **found;
}

inline PlacedProfile placed(const Geometry& geometry, std::string_view name, int start) {
  const auto profile = geometry.find_profile(name);
  SEPTULE_CHECK(profile.has_value(), "tests name known profiles");
  return {.profile = *profile, .start = MemorySlices(start)};
}

inline ComputeInstance compute(int start, int size) {
  return {.placement = {.start = ComputeSlices(start), .size = ComputeSlices(size)}};
}

inline ObservedComputeInstance observed(const ComputeInstance& instance,
                                        Hold hold = Hold::kIdle,
                                        std::string holder = "") {
  ObservedComputeInstance seen;
  seen.instance = instance;
  seen.hold = hold;
  seen.holder = std::move(holder);
  return seen;
}

/// One full compute instance, listed.
inline ObservedInstance observed(const Geometry& geometry,
                                 const PlacedProfile& place,
                                 Hold hold = Hold::kIdle,
                                 std::string holder = "") {
  ObservedInstance seen;
  seen.placed = place;
  seen.hold = hold;
  seen.holder = std::move(holder);
  seen.compute_instances = {observed(full_compute_instance(geometry, place.profile))};
  return seen;
}

inline ObservedGpu observed_gpu(const Geometry& geometry,
                                std::vector<ObservedInstance> instances,
                                int index = 0) {
  ObservedGpu gpu;
  gpu.index = GpuIndex(index);
  gpu.geometry = &geometry;
  gpu.instances = std::move(instances);
  return gpu;
}

/// Sanitizers make these tests some twenty times slower; there every tenth case is enough.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr int kStride = 10;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr int kStride = 10;
#else
inline constexpr int kStride = 1;
#endif
#else
inline constexpr int kStride = 1;
#endif

/// Uniform enough, and the same with every standard library.
inline std::size_t draw(std::mt19937& rng, std::size_t count) {
  return rng() % count;
}

inline Hold draw_hold(std::mt19937& rng, unsigned held_percent) {
  if (draw(rng, 100) >= held_percent) {
    return Hold::kIdle;
  }
  return draw(rng, 2) == 0 ? Hold::kBusy : Hold::kForeign;
}

inline std::vector<Layout> legal_layouts(const Geometry& geometry, ProfileSet set) {
  std::vector<Layout> layouts;
  for_each_layout(geometry, geometry.profiles_in(set), {}, [&](const Layout& layout, bool) {
    layouts.push_back(layout);
  });
  return layouts;
}

inline std::string steps_text(const GpuTransition& plan) {
  std::string text;
  for (const Step& step : plan.steps) {
    text += fmt::format("{}{}", text.empty() ? "" : "; ", step_name(step.kind));
    if (step.kind != StepKind::kEnableMig && step.kind != StepKind::kDisableMig) {
      text += " " + placed_text(*step.geometry, step.placed);
    }
    if (step.compute_instance.has_value()) {
      text += fmt::format("/{}c@{}",
                          step.compute_instance->placement.size.value(),
                          step.compute_instance->placement.start.value());
    }
    text += step.is_every_compute_instance ? "/*" : "";
  }
  return text;
}

/// Runs the steps on the toy device and compares the end with what the plan says.
inline void expect_executable(const ObservedGpu& gpu,
                              const GpuTransition& plan,
                              const std::vector<ComputePlacement>& hidden) {
  ToyDevice device(gpu, hidden);
  Duration sum;
  for (const Step& step : plan.steps) {
    ASSERT_EQ(device.execute(step), "") << steps_text(plan);
    sum += step.estimate;
  }
  ASSERT_EQ(device.is_mig_enabled(), plan.is_mig_enabled_after);
  ASSERT_EQ(plan.estimate, sum);
  const Partition end = device.partition();
  ASSERT_EQ(layout_of(end), layout_of(plan.reached));
  ASSERT_EQ(end, plan.reached) << steps_text(plan);
}

}  // namespace septule::gpu::test
