#include "optimize/switch_costs.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.hpp"

namespace septule::optimize {

namespace {

/// The time of a GPU instance with one compute instance, and of the others beside that one.
Duration with_compute(const std::vector<Duration>& table,
                      const gpu::GpuInstance& instance,
                      Duration each) {
  const auto at = static_cast<std::size_t>(instance.placed.profile.value());
  const std::int64_t first = at < table.size() ? table[at].to_nanoseconds() : 0;
  const auto others = static_cast<std::int64_t>(instance.compute_instances.size()) - 1;
  return Duration::nanoseconds(std::max<std::int64_t>(0, first + others * each.to_nanoseconds()));
}

bool has(const gpu::Partition& cut, const gpu::GpuInstance& instance) {
  return std::ranges::find(cut.instances, instance) != cut.instances.end();
}

}  // namespace

SwitchCosts make_switch_costs(const gpu::Geometry& geometry, const gpu::LatencyTable& latencies) {
  SwitchCosts costs;
  const std::string& key = geometry.key();
  costs.compute_create = latencies.compute_instance_create(key).duration;
  costs.compute_destroy = latencies.compute_instance_destroy(key).duration;
  costs.mig_toggle = latencies.mig_mode_toggle(key).duration;
  for (const gpu::GpuInstanceProfile& profile : geometry.profiles()) {
    costs.create.push_back(latencies.gpu_instance_create(key, profile.slices).duration +
                           costs.compute_create);
    costs.destroy.push_back(latencies.gpu_instance_destroy(key, profile.slices).duration +
                            costs.compute_destroy);
  }
  return costs;
}

bool is_free(const SwitchCosts* costs) {
  const auto is_zero = [](Duration duration) { return duration == Duration(); };
  return costs == nullptr ||
         (std::ranges::all_of(costs->create, is_zero) &&
          std::ranges::all_of(costs->destroy, is_zero) && is_zero(costs->compute_create) &&
          is_zero(costs->compute_destroy) && is_zero(costs->mig_toggle));
}

Duration create_time(const SwitchCosts* costs, const gpu::GpuInstance& instance) {
  return costs == nullptr ? Duration()
                          : with_compute(costs->create, instance, costs->compute_create);
}

Duration destroy_time(const SwitchCosts* costs, const gpu::GpuInstance& instance) {
  return costs == nullptr ? Duration()
                          : with_compute(costs->destroy, instance, costs->compute_destroy);
}

Duration switch_time(const SwitchCosts* costs, const GpuCut& from, const GpuCut& to) {
  if (costs == nullptr) {
    return {};
  }
  static const gpu::Partition nothing;
  const gpu::Partition& before = from.has_value() ? *from : nothing;
  const gpu::Partition& after = to.has_value() ? *to : nothing;
  Duration sum = from.has_value() == to.has_value() ? Duration() : costs->mig_toggle;
  for (const gpu::GpuInstance& instance : before.instances) {
    sum += has(after, instance) ? Duration() : destroy_time(costs, instance);
  }
  for (const gpu::GpuInstance& instance : after.instances) {
    sum += has(before, instance) ? Duration() : create_time(costs, instance);
  }
  return sum;
}

}  // namespace septule::optimize
