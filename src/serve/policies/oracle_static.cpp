#include "serve/policies/oracle_static.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "serve/policies/baseline_parts.hpp"
#include "serve/policies/hindsight.hpp"
#include "serve/policies/rate_book.hpp"
#include "serve/policies/static_best.hpp"
#include "serve/policies/window_chain.hpp"
#include "serve/tenant_split.hpp"

namespace septule::serve {

namespace {

Hindsight::Window window_at(int window, int window_s, int seconds) {
  return {.begin_s = window * window_s, .end_s = std::min((window + 1) * window_s, seconds)};
}

int window_count(const Hindsight& hindsight, int window_s) {
  return (hindsight.seconds() + window_s - 1) / window_s;
}

LabelledCounts counts_of(const LayoutLattice& lattice, const LabelledLayout& layout, int uses) {
  LabelledCounts counts(static_cast<std::size_t>(uses));
  for (const LabelledInstance& instance : layout) {
    const int size = lattice.placements()[static_cast<std::size_t>(instance.placement)].size;
    ++counts[static_cast<std::size_t>(instance.label)][static_cast<std::size_t>(size)];
  }
  return counts;
}

/// Instances that serve nobody are left out.
GpuDeployment deployment_of(const ServingSetup& setup,
                            std::span<const int> tenants,
                            const LabelledLayout& layout) {
  GpuDeployment gpu;
  for (const LabelledInstance& instance : layout) {
    const SizePlacement& place =
        setup.lattice->placements()[static_cast<std::size_t>(instance.placement)];
    const auto label = static_cast<std::size_t>(instance.label);
    Occupant occupant{.tenant = kLaneTenant, .role = Role::kRetrain};
    if (label < tenants.size()) {
      const AdmittedTenant& tenant = setup.tenants[static_cast<std::size_t>(tenants[label])];
      if (!tenant.serving[static_cast<std::size_t>(place.size)].has_value()) {
        continue;
      }
      occupant = serving_occupant(tenant, tenants[label], place.size);
    }
    gpu.instances.push_back({place.placed, {occupant}});
  }
  std::ranges::sort(gpu.instances, [](const ServingInstance& a, const ServingInstance& b) {
    return std::pair(a.placed->start, a.placed->profile) <
           std::pair(b.placed->start, b.placed->profile);
  });
  return gpu;
}

/// One GPU's plans by window.
Result<std::vector<LanePlan>> plan_gpu(const ServingSetup& setup,
                                       std::span<const int> tenants,
                                       int window_s) {
  SEPTULE_TRY(Hindsight hindsight, Hindsight::make(setup, tenants));
  const int places = hindsight.tenant_count();
  const auto window = [&](int index) { return window_at(index, window_s, hindsight.seconds()); };
  const ChainProblem problem{
      .lattice = setup.lattice,
      .label_count = places + (hindsight.retraining_tenants() > 0 ? 1 : 0),
      .windows = window_count(hindsight, window_s),
      .reward =
          [&](int index, const LabelledCounts& counts) {
            LabelledCounts uses = counts;
            uses.resize(static_cast<std::size_t>(places) + 1);
            return hindsight.worth(uses, window(index)).goodput;
          },
      .creation_cost =
          [&](int index, int label, int size) {
            return label < places ? hindsight.creation_cost(label, size, window(index)) : 0.0;
          }};
  SEPTULE_TRY(const LayoutChain chain, chain_layouts(problem));
  std::vector<LanePlan> plans;
  for (std::size_t index = 0; index < chain.layouts.size(); ++index) {
    const LabelledLayout& layout = chain.layouts[index];
    Hindsight::Worth worth = hindsight.worth(counts_of(*setup.lattice, layout, places + 1),
                                             window(static_cast<int>(index)));
    plans.push_back(make_lane_plan(
        *setup.lattice, deployment_of(setup, tenants, layout), std::move(worth.runs)));
  }
  return plans;
}

class OracleStaticPolicy final : public ServingPolicy {
 public:
  OracleStaticPolicy(std::vector<std::vector<LanePlan>> plans, int window_s)
      : plans_(std::move(plans)), window_s_(window_s) {}

  std::string_view name() const override { return "oracle-static"; }
  DispatchRule dispatch() const override { return DispatchRule::kSlack; }

  std::optional<Deployment> decide(const ServingView& view) override {
    const auto now_s = static_cast<int>(view.now.to_nanoseconds() / 1'000'000'000);
    const auto window = static_cast<std::size_t>(now_s / window_s_);
    Deployment deployment;
    for (const std::vector<LanePlan>& windows : plans_) {
      if (windows.empty()) {
        deployment.gpus.emplace_back();
        continue;
      }
      const LanePlan& plan = windows[std::min(window, windows.size() - 1)];
      deployment.gpus.push_back(plan.deployment(plan.occupants(view)));
    }
    if (last_ == deployment) {
      return std::nullopt;
    }
    last_ = deployment;
    return deployment;
  }

 private:
  std::vector<std::vector<LanePlan>> plans_;  // by GPU, window
  int window_s_;
  std::optional<Deployment> last_;
};

}  // namespace

Result<std::unique_ptr<ServingPolicy>> make_oracle_static(const ServingSetup& setup) {
  const auto window_s = static_cast<int>(setup.options.number("window-s", 200));
  std::vector<std::vector<LanePlan>> plans;
  for (const std::vector<int>& tenants :
       assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)) {
    if (tenants.empty()) {
      plans.emplace_back();
      continue;
    }
    SEPTULE_TRY(std::vector<LanePlan> planned, plan_gpu(setup, tenants, window_s));
    plans.push_back(std::move(planned));
  }
  return std::unique_ptr<ServingPolicy>(
      std::make_unique<OracleStaticPolicy>(std::move(plans), window_s));
}

std::vector<OptionRecord> oracle_static_options() {
  return {window_length_option("How long a layout is kept.", 86400)};
}

Result<double> oracle_static_bound(const ServingSetup& setup, int window_s) {
  std::vector<SizeTable<int>> multisets;
  for (const LayoutLattice::Multiset& multiset : setup.lattice->multisets()) {
    if (multiset.is_undominated) {
      multisets.push_back(multiset.counts);
    }
  }
  double bound = 0;
  for (const std::vector<int>& tenants :
       assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)) {
    if (tenants.empty()) {
      continue;
    }
    SEPTULE_TRY(Hindsight hindsight, Hindsight::make(setup, tenants));
    const std::vector<LabelledCounts> all =
        labelled_counts(multisets,
                        static_cast<int>(setup.lattice->sizes().size()),
                        hindsight.tenant_count() + 1,
                        hindsight.retraining_tenants());
    for (int index = 0; index < window_count(hindsight, window_s); ++index) {
      Hindsight::Window window = window_at(index, window_s, hindsight.seconds());
      window.warm_ups = Hindsight::WarmUps::kNone;
      double best = 0;
      for (const LabelledCounts& counts : all) {
        best = std::max(best, hindsight.worth(counts, window).goodput);
      }
      bound += best;
    }
  }
  return bound;
}

}  // namespace septule::serve
