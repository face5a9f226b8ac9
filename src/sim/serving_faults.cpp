// Why orders cannot be carried out: the rest of sim/serving_fleet.hpp.
#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "gpu/partition_checker.hpp"
#include "sim/serving_fleet.hpp"

namespace septule::sim {
namespace {

void append(std::vector<std::string>& all, std::vector<std::string> more) {
  std::move(more.begin(), more.end(), std::back_inserter(all));
}

std::string trust_group_text(const serve::Tenant& tenant) {
  return tenant.trust_group.empty() ? "no trust group" : "trust group " + tenant.trust_group;
}

}  // namespace

std::vector<std::string> ServingFleet::find_faults(const serve::Deployment& wanted) const {
  std::vector<std::string> faults;
  if (wanted.gpus.size() != current_.gpus.size()) {
    faults.push_back(fmt::format(
        "the order names {} GPUs, there are {}", wanted.gpus.size(), current_.gpus.size()));
    return faults;
  }
  for (std::size_t gpu = 0; gpu < wanted.gpus.size(); ++gpu) {
    if (!(wanted.gpus[gpu] == current_.gpus[gpu])) {
      append(faults, find_gpu_faults(static_cast<int>(gpu), wanted.gpus[gpu]));
    }
  }
  if (faults.empty()) {
    append(faults, find_retraining_faults(wanted));
  }
  return faults;
}

std::vector<std::string> ServingFleet::find_gpu_faults(int gpu,
                                                       const serve::GpuDeployment& wanted) const {
  std::vector<std::string> faults;
  const gpu::Geometry& geometry = setup_->lattice->geometry();
  gpu::Layout layout;
  for (const serve::ServingInstance& instance : wanted.instances) {
    if (!instance.placed) {
      if (wanted.instances.size() > 1) {
        faults.push_back(fmt::format("GPU {}: the whole GPU is no instance beside others", gpu));
      }
    } else if (!setup_->lattice->find_placement(*instance.placed)) {
      faults.push_back(fmt::format("GPU {}: profile {} at memory slice {} is no placement of {}",
                                   gpu,
                                   instance.placed->profile.value(),
                                   instance.placed->start.value(),
                                   geometry.key()));
    } else {
      layout.push_back(*instance.placed);
    }
    append(faults, find_occupant_faults(gpu, instance));
  }
  if (faults.empty()) {
    gpu::canonicalise(layout);
    for (const gpu::Violation& violation :
         gpu::check_partition(geometry, gpu::partition_with_full_instances(geometry, layout))) {
      faults.push_back(fmt::format("GPU {}: {}", gpu, violation.message));
    }
  }
  return faults;
}

std::vector<std::string> ServingFleet::find_occupant_faults(
    int gpu, const serve::ServingInstance& instance) const {
  std::vector<std::string> faults;
  const auto tenant_count = static_cast<int>(setup_->tenants.size());
  int share = 0;
  for (auto it = instance.occupants.begin(); it != instance.occupants.end(); ++it) {
    if (it->tenant < 0 || it->tenant >= tenant_count) {
      faults.push_back(fmt::format("GPU {}: there is no tenant {}", gpu, it->tenant));
      continue;
    }
    const serve::Tenant& tenant = setup_->tenants[static_cast<std::size_t>(it->tenant)].tenant;
    if (it->batch < 1 || it->processes < 1 || it->share.value() < 1) {
      faults.push_back(
          fmt::format("GPU {}: {} has batch {}, {} processes and a share of {} %, but "
                      "each is at least 1",
                      gpu,
                      tenant.name,
                      it->batch,
                      it->processes,
                      it->share.value()));
    }
    if (it->role == serve::Role::kRetrain && !tenant.retraining) {
      faults.push_back(fmt::format("GPU {}: {} has nothing to retrain", gpu, tenant.name));
    }
    share += it->share.value();
    for (auto other = instance.occupants.begin(); other != it; ++other) {
      if (other->tenant == it->tenant && other->role == it->role) {
        faults.push_back(fmt::format("GPU {}: {} is twice in one instance", gpu, tenant.name));
      }
      if (other->tenant >= 0 && other->tenant < tenant_count &&
          setup_->tenants[static_cast<std::size_t>(other->tenant)].tenant.trust_group !=
              tenant.trust_group) {
        const serve::Tenant& peer = setup_->tenants[static_cast<std::size_t>(other->tenant)].tenant;
        faults.push_back(fmt::format("GPU {}: {} ({}) would share an instance with {} ({})",
                                     gpu,
                                     tenant.name,
                                     trust_group_text(tenant),
                                     peer.name,
                                     trust_group_text(peer)));
      }
    }
  }
  if (share > 100) {
    faults.push_back(
        fmt::format("GPU {}: the shares of an instance are {} %, at most 100 are "
                    "possible",
                    gpu,
                    share));
  }
  return faults;
}

std::vector<std::string> ServingFleet::find_retraining_faults(
    const serve::Deployment& wanted) const {
  std::vector<int> counts(setup_->tenants.size(), 0);
  for (const serve::GpuDeployment& gpu : wanted.gpus) {
    for (const serve::ServingInstance& instance : gpu.instances) {
      for (const serve::Occupant& occupant : instance.occupants) {
        counts[static_cast<std::size_t>(occupant.tenant)] +=
            occupant.role == serve::Role::kRetrain ? 1 : 0;
      }
    }
  }
  std::vector<std::string> faults;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 1) {
      faults.push_back(fmt::format("{} retrains in {} instances, at most one is possible",
                                   setup_->tenants[i].tenant.name,
                                   counts[i]));
    }
  }
  return faults;
}

}  // namespace septule::sim
