#include "serve/tenant_split.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.hpp"

namespace septule::serve {

namespace {

double retraining_demand(const Tenant& tenant) {
  if (!tenant.retraining.has_value()) {
    return 0;
  }
  const double series_s =
      tenant.rate.step.to_seconds() * static_cast<double>(tenant.rate.values.size());
  const double over_s = tenant.retraining->period.has_value()
                            ? tenant.retraining->period->to_seconds()
                            : std::max(series_s, tenant.retraining->work_s);
  return over_s > 0 ? tenant.retraining->work_s / over_s : 0;
}

}  // namespace

double gpu_demand(const LayoutLattice& lattice, const AdmittedTenant& tenant) {
  double whole = 0;
  for (std::size_t size = lattice.sizes().size(); size > 0 && whole <= 0; --size) {
    whole = tenant.throughput_rps(static_cast<int>(size) - 1);
  }
  const double serving = whole > 0 ? tenant.tenant.rate.mean() / whole : 1;
  return serving + retraining_demand(tenant.tenant);
}

std::vector<std::vector<int>> assign_tenants_to_gpus(const LayoutLattice& lattice,
                                                     std::span<const AdmittedTenant> tenants,
                                                     int gpu_count) {
  SEPTULE_CHECK(gpu_count > 0, "there is a GPU");
  std::vector<double> demands;
  for (const AdmittedTenant& tenant : tenants) {
    demands.push_back(gpu_demand(lattice, tenant));
  }
  std::vector<int> order(tenants.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int tenant) {
    return std::pair(-demands[static_cast<std::size_t>(tenant)], tenant);
  });
  std::vector<std::vector<int>> split(static_cast<std::size_t>(gpu_count));
  std::vector<double> load(split.size(), 0);
  for (const int tenant : order) {
    const auto least = static_cast<std::size_t>(std::ranges::min_element(load) - load.begin());
    split[least].push_back(tenant);
    load[least] += demands[static_cast<std::size_t>(tenant)];
  }
  for (std::vector<int>& gpu : split) {
    std::ranges::sort(gpu);
  }
  return split;
}

}  // namespace septule::serve
