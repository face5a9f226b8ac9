#include "septule/serve_split.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "base/check.hpp"

namespace septule::app {

namespace {

/// A GPU while it is filled.
struct OpenGpu {
  std::vector<serve::SizePlacement> places;  ///< by placement of its layout
  std::vector<int> placements;               ///< their indices in the lattice
  std::vector<int> tenants;                  ///< who has each; -1 = nobody
};

OpenGpu open_gpu(const serve::LayoutLattice& lattice, int multiset) {
  OpenGpu gpu;
  // The first placed layout of these sizes; which one it is decides nothing here.
  const std::uint32_t set = lattice.sets_of(multiset).front();
  for (std::uint32_t left = set; left != 0; left &= left - 1) {
    const int placement = std::countr_zero(left);
    gpu.placements.push_back(placement);
    gpu.places.push_back(lattice.placements()[static_cast<std::size_t>(placement)]);
    gpu.tenants.push_back(-1);
  }
  return gpu;
}

std::vector<OpenGpu> open_gpus(const ServeInput& input,
                               const serve::FleetPlan& plan,
                               int gpu_count) {
  std::vector<OpenGpu> gpus;
  for (const serve::LayoutCount& count : plan.layouts) {
    for (int i = 0; i < count.gpus; ++i) {
      gpus.push_back(open_gpu(*input.lattice, count.multiset));
    }
  }
  gpus.resize(static_cast<std::size_t>(std::max(gpu_count, static_cast<int>(gpus.size()))));
  return gpus;
}

/// Gives one instance of this size to the tenant: where it is already, else on the first GPU.
void place_one(std::vector<OpenGpu>& gpus, int tenant, int size) {
  OpenGpu* chosen = nullptr;
  std::size_t place = 0;
  bool is_known = false;
  for (OpenGpu& gpu : gpus) {
    const bool is_here = std::ranges::find(gpu.tenants, tenant) != gpu.tenants.end();
    for (std::size_t i = 0; i < gpu.places.size(); ++i) {
      if (gpu.places[i].size == size && gpu.tenants[i] < 0 &&
          (chosen == nullptr || (is_here && !is_known))) {
        chosen = &gpu;
        place = i;
        is_known = is_here;
        break;
      }
    }
  }
  SEPTULE_CHECK(chosen != nullptr, "the layouts of a fleet plan hold its instances");
  chosen->tenants[place] = tenant;
}

serve::LabelledLayout layout_of(const OpenGpu& gpu) {
  serve::LabelledLayout layout;
  for (std::size_t i = 0; i < gpu.places.size(); ++i) {
    if (gpu.tenants[i] >= 0) {
      layout.push_back({.placement = gpu.placements[i], .label = gpu.tenants[i]});
    }
  }
  return layout;
}

double capacity_of(const ServeInput& input, const serve::LabelledInstance& instance) {
  const auto& placement = input.lattice->placements()[static_cast<std::size_t>(instance.placement)];
  return input.tenants[static_cast<std::size_t>(instance.label)].throughput_rps(placement.size);
}

}  // namespace

std::vector<GpuShare> shares_by_capacity(const ServeInput& input,
                                         std::span<const serve::LabelledLayout> layouts) {
  std::vector<double> whole(input.tenants.size());
  for (const serve::LabelledLayout& layout : layouts) {
    for (const serve::LabelledInstance& instance : layout) {
      whole[static_cast<std::size_t>(instance.label)] += capacity_of(input, instance);
    }
  }
  std::vector<GpuShare> shares;
  for (const serve::LabelledLayout& layout : layouts) {
    std::map<int, double> capacity;
    for (const serve::LabelledInstance& instance : layout) {
      capacity[instance.label] += capacity_of(input, instance);
    }
    GpuShare& share = shares.emplace_back();
    share.layout = layout;
    for (const auto& [tenant, rps] : capacity) {
      share.tenants.push_back(
          {.tenant = tenant, .share = rps / whole[static_cast<std::size_t>(tenant)]});
    }
  }
  for (std::size_t m = 0; m < whole.size(); ++m) {
    if (whole[m] <= 0) {
      GpuShare& emptiest = *std::ranges::min_element(
          shares, {}, [](const GpuShare& share) { return share.tenants.size(); });
      emptiest.tenants.push_back({.tenant = static_cast<int>(m), .share = 1});
      std::ranges::sort(emptiest.tenants, {}, &GpuShare::Part::tenant);
    }
  }
  return shares;
}

std::vector<GpuShare> split_fleet(const ServeInput& input,
                                  const serve::FleetPlan& plan,
                                  int gpu_count) {
  std::vector<OpenGpu> gpus = open_gpus(input, plan, gpu_count);
  std::vector<std::size_t> order(input.tenants.size());
  std::vector<int> instances(input.tenants.size());
  for (std::size_t m = 0; m < order.size(); ++m) {
    order[m] = m;
    for (std::size_t size = 0; size < input.lattice->sizes().size(); ++size) {
      instances[m] += plan.instances[m][size];
    }
  }
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t m) { return instances[m]; });
  for (const std::size_t m : order) {
    for (std::size_t size = input.lattice->sizes().size(); size-- > 0;) {
      for (int i = 0; i < plan.instances[m][size]; ++i) {
        place_one(gpus, static_cast<int>(m), static_cast<int>(size));
      }
    }
  }
  std::vector<serve::LabelledLayout> layouts;
  for (const OpenGpu& gpu : gpus) {
    layouts.push_back(layout_of(gpu));
  }
  return shares_by_capacity(input, layouts);
}

}  // namespace septule::app
