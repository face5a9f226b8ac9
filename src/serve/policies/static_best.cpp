#include "serve/policies/static_best.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "serve/policies/baseline_parts.hpp"
#include "serve/tenant_split.hpp"

namespace septule::serve {

namespace {

class StaticBestPolicy final : public ServingPolicy {
 public:
  explicit StaticBestPolicy(std::vector<LanePlan> plans) : plans_(std::move(plans)) {}

  std::string_view name() const override { return "static-best"; }
  DispatchRule dispatch() const override { return DispatchRule::kSlack; }

  std::optional<Deployment> decide(const ServingView& view) override {
    std::vector<std::vector<int>> occupants;
    for (const LanePlan& plan : plans_) {
      occupants.push_back(plan.occupants(view));
    }
    if (has_begun_ && occupants == occupants_) {
      return std::nullopt;
    }
    has_begun_ = true;
    occupants_ = std::move(occupants);
    Deployment deployment;
    for (std::size_t gpu = 0; gpu < plans_.size(); ++gpu) {
      deployment.gpus.push_back(plans_[gpu].deployment(occupants_[gpu]));
    }
    return deployment;
  }

 private:
  std::vector<LanePlan> plans_;  // by GPU
  std::vector<std::vector<int>> occupants_;
  bool has_begun_ = false;
};

std::vector<SizeWish> wishes_of(const ServingSetup& setup,
                                std::span<const int> tenants,
                                const LabelledCounts& counts) {
  std::vector<SizeWish> wishes;
  for (int size = 0; size < static_cast<int>(setup.lattice->sizes().size()); ++size) {
    const auto at = static_cast<std::size_t>(size);
    for (std::size_t place = 0; place < tenants.size(); ++place) {
      const AdmittedTenant& tenant = setup.tenants[static_cast<std::size_t>(tenants[place])];
      if (tenant.serving[at].has_value()) {
        wishes.insert(wishes.end(),
                      static_cast<std::size_t>(counts[place][at]),
                      {size, serving_occupant(tenant, tenants[place], size)});
      }
    }
    wishes.insert(wishes.end(),
                  static_cast<std::size_t>(counts.back()[at]),
                  {size, {.tenant = kLaneTenant, .role = Role::kRetrain}});
  }
  return wishes;
}

}  // namespace

StaticChoice choose_static(const LayoutLattice& lattice, Hindsight& hindsight) {
  std::vector<SizeTable<int>> multisets;
  for (const LayoutLattice::Multiset& multiset : lattice.multisets()) {
    if (multiset.is_undominated) {
      multisets.push_back(multiset.counts);
    }
  }
  StaticChoice best;
  for (LabelledCounts& counts : labelled_counts(multisets,
                                                static_cast<int>(lattice.sizes().size()),
                                                hindsight.tenant_count() + 1,
                                                hindsight.retraining_tenants())) {
    Hindsight::Worth worth = hindsight.worth(counts, {.end_s = hindsight.seconds()});
    if (best.counts.empty() || worth.goodput > best.worth.goodput) {
      best = {std::move(counts), std::move(worth)};
    }
  }
  return best;
}

std::vector<int> LanePlan::occupants(const ServingView& view) const {
  std::vector<int> result(lanes.size(), kLaneTenant);
  const double now_s = view.now.to_seconds();
  for (const LaneRun& run : runs) {
    if (run.start_s <= now_s) {
      result[static_cast<std::size_t>(run.lane)] = run.tenant;
    }
  }
  for (int& tenant : result) {
    if (tenant != kLaneTenant &&
        !is_retraining_pending(view.tenants[static_cast<std::size_t>(tenant)], view.now)) {
      tenant = kLaneTenant;
    }
  }
  return result;
}

GpuDeployment LanePlan::deployment(std::span<const int> occupants) const {
  GpuDeployment result = gpu;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    result.instances[lanes[lane]].occupants.front().tenant = occupants[lane];
  }
  std::erase_if(result.instances, [](const ServingInstance& instance) {
    return instance.occupants.front().tenant == kLaneTenant;
  });
  return result;
}

LanePlan make_lane_plan(const LayoutLattice& lattice,
                        GpuDeployment gpu,
                        std::vector<LaneRun> runs) {
  LanePlan plan{.gpu = std::move(gpu), .lanes = {}, .runs = std::move(runs)};
  for (std::size_t size = lattice.sizes().size(); size > 0; --size) {
    for (std::size_t i = 0; i < plan.gpu.instances.size(); ++i) {
      const ServingInstance& instance = plan.gpu.instances[i];
      if (instance.occupants.front().tenant == kLaneTenant && instance.placed.has_value() &&
          instance.placed->profile == lattice.sizes()[size - 1].profile) {
        plan.lanes.push_back(i);
      }
    }
  }
  return plan;
}

Result<std::unique_ptr<ServingPolicy>> make_static_best(const ServingSetup& setup) {
  std::vector<LanePlan> plans;
  for (const std::vector<int>& tenants :
       assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)) {
    if (tenants.empty()) {
      plans.emplace_back();
      continue;
    }
    SEPTULE_TRY(Hindsight hindsight, Hindsight::make(setup, tenants));
    StaticChoice choice = choose_static(*setup.lattice, hindsight);
    const std::vector<SizeWish> wishes = wishes_of(setup, tenants, choice.counts);
    plans.push_back(
        make_lane_plan(*setup.lattice,
                       place_wishes(*setup.lattice, wishes, {}).value_or(GpuDeployment()),
                       std::move(choice.worth.runs)));
  }
  return std::unique_ptr<ServingPolicy>(std::make_unique<StaticBestPolicy>(std::move(plans)));
}

}  // namespace septule::serve
