#include "serve/policies/astraea.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "serve/mps_share_model.hpp"
#include "serve/policies/baseline_parts.hpp"
#include "serve/policies/rate_book.hpp"
#include "serve/policies/share_search.hpp"
#include "serve/tenant_split.hpp"

namespace septule::serve {

namespace {

struct AstraeaOptions {
  int grid = 20;
  double headroom = 1.1;
  double ewma_s = 10;
  double change = 0.1;
  int replan_s = 10;
  double phi = MpsShareModel::kPhiMedian;
};

AstraeaOptions read_options(const PolicyOptions& options) {
  AstraeaOptions read;
  read.grid = static_cast<int>(options.number("grid", read.grid));
  read.headroom = options.number("headroom", read.headroom);
  read.ewma_s = options.number("ewma-s", read.ewma_s);
  read.change = options.number("change", read.change);
  read.replan_s = static_cast<int>(options.number("replan-s", read.replan_s));
  read.phi = options.number("phi", read.phi);
  return read;
}

class AstraeaPolicy final : public ServingPolicy {
 public:
  AstraeaPolicy(const ServingSetup& setup, const RateBook& priors)
      : setup_(setup),
        options_(read_options(setup.options)),
        model_(options_.phi),
        split_(assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)),
        points_(setup.tenants.size()),
        seen_(setup.tenants.size(), 0),
        planned_(setup.tenants.size(), 0) {
    for (std::size_t m = 0; m < setup.tenants.size(); ++m) {
      load_.push_back(priors.mean_rps(static_cast<int>(m), 1));
      points_[m].emplace_back();
      for (int step = 1; step <= options_.grid; ++step) {
        points_[m].push_back(point_at(m, share_of(step, options_.grid)));
      }
    }
  }

  std::string_view name() const override { return "astraea-like"; }
  DispatchRule dispatch() const override { return DispatchRule::kProportional; }

  std::optional<Deployment> decide(const ServingView& view) override {
    observe(view);
    const auto now_s = static_cast<int>(view.now.to_nanoseconds() / 1'000'000'000);
    const std::vector<bool> pending = pending_retraining(view);
    const bool may_follow_load =
        now_s - planned_at_s_ >= options_.replan_s && has_moved() && !is_warming_up(view);
    if (has_planned_ && pending == pending_ && !may_follow_load) {
      return std::nullopt;
    }
    has_planned_ = true;
    pending_ = pending;
    planned_ = load_;
    planned_at_s_ = now_s;
    Deployment deployment;
    for (const std::vector<int>& tenants : split_) {
      deployment.gpus.push_back(plan_gpu(tenants));
    }
    return deployment;
  }

 private:
  std::optional<SharePoint> point_at(std::size_t m, ActiveThreadPercentage share) const {
    return best_share_point(
        setup_.tenants[m].tenant,
        model_,
        {.gpu_slices = whole_slices(*setup_.lattice),
         .share = share,
         .company = share.value() == 100 ? MpsCompany::kAlone : MpsCompany::kShared,
         .rule = setup_.rule});
  }

  void observe(const ServingView& view) {
    for (std::size_t m = 0; m < load_.size(); ++m) {
      const std::span<const double> arrived = view.tenants[m].arrived;
      for (; seen_[m] < arrived.size(); ++seen_[m]) {
        load_[m] += (arrived[seen_[m]] - load_[m]) / options_.ewma_s;
      }
    }
  }

  bool has_moved() const {
    for (std::size_t m = 0; m < load_.size(); ++m) {
      if (std::abs(load_[m] - planned_[m]) > options_.change * planned_[m]) {
        return true;
      }
    }
    return false;
  }

  static bool is_warming_up(const ServingView& view) {
    return std::ranges::any_of(view.instances, [&](const InstanceState& state) {
      return std::ranges::any_of(state.ready, [&](SimTime ready) { return ready > view.now; });
    });
  }

  GpuDeployment plan_gpu(std::span<const int> tenants) const {
    std::vector<ShareTenant> known;
    for (const int m : tenants) {
      ShareTenant tenant{.rate_rps = {}, .expected_rps = load_[static_cast<std::size_t>(m)]};
      for (const std::optional<SharePoint>& point : points_[static_cast<std::size_t>(m)]) {
        tenant.rate_rps.push_back(point.has_value() ? point->yield.throughput_rps : 0);
      }
      known.push_back(std::move(tenant));
    }
    if (known.empty()) {
      return {};
    }
    const ShareSearchResult found = search_shares(known, options_.grid, options_.headroom);
    std::vector<Occupant> occupants;
    const int used = options_.grid - found.left_over;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      if (found.steps[i] > 0) {
        // An overloaded GPU is given away whole, in proportion.
        const ActiveThreadPercentage share =
            share_of(found.steps[i], found.kappa < 1 ? used : options_.grid);
        add_serving(occupants, tenants[i], share);
      }
    }
    if (found.kappa >= 1) {
      add_retraining(occupants, tenants, found.left_over);
    }
    return shared_gpu(std::move(occupants));
  }

  void add_serving(std::vector<Occupant>& occupants,
                   int tenant,
                   ActiveThreadPercentage share) const {
    const std::optional<SharePoint> point = point_at(static_cast<std::size_t>(tenant), share);
    if (point.has_value()) {
      occupants.push_back({.tenant = tenant,
                           .role = Role::kServe,
                           .batch = point->batch,
                           .processes = point->processes,
                           .share = share});
    }
  }

  void add_retraining(std::vector<Occupant>& occupants,
                      std::span<const int> tenants,
                      int left_over) const {
    const auto jobs = static_cast<int>(std::ranges::count_if(
        tenants, [&](int m) { return static_cast<bool>(pending_[static_cast<std::size_t>(m)]); }));
    // Less than one per cent each is none at all.
    if (jobs == 0 || 100 * left_over < options_.grid * jobs) {
      return;
    }
    for (const int m : tenants) {
      if (pending_[static_cast<std::size_t>(m)]) {
        occupants.push_back({.tenant = m,
                             .role = Role::kRetrain,
                             .share = share_of(left_over, options_.grid * jobs)});
      }
    }
  }

  ServingSetup setup_;
  AstraeaOptions options_;
  MpsShareModel model_;
  std::vector<std::vector<int>> split_;
  std::vector<std::vector<std::optional<SharePoint>>> points_;  // by tenant, grid step
  std::vector<double> load_;                                    // EWMA by tenant
  std::vector<std::size_t> seen_;
  std::vector<double> planned_;  // load of the last plan
  std::vector<bool> pending_;
  int planned_at_s_ = 0;
  bool has_planned_ = false;
};

}  // namespace

Result<std::unique_ptr<ServingPolicy>> make_astraea_like(const ServingSetup& setup) {
  SEPTULE_TRY(const RateBook priors, RateBook::make(setup));
  return std::unique_ptr<ServingPolicy>(std::make_unique<AstraeaPolicy>(setup, priors));
}

std::vector<OptionRecord> astraea_like_options() {
  return {{.name = "grid",
           .value = "N",
           .text = "Steps into which shares of a GPU are divided.",
           .default_text = "20",
           .min = 1,
           .max = 100,
           .is_integer = true},
          {.name = "headroom",
           .value = "X",
           .text = "Multiple of the load beyond which shares do not grow.",
           .default_text = "1.1",
           .min = 1,
           .max = 10},
          {.name = "ewma-s",
           .value = "S",
           .text = "Time constant of the load.",
           .unit = "s",
           .default_text = "10",
           .min = 1,
           .max = 3600},
          {.name = "change",
           .value = "X",
           .text = "Relative change of a load that brings a new plan.",
           .default_text = "0.1",
           .min = 0,
           .max = 10},
          {.name = "replan-s",
           .value = "S",
           .text = "Least time between plans that follow the load.",
           .unit = "s",
           .default_text = "10",
           .min = 1,
           .max = 3600,
           .is_integer = true},
          {.name = "phi",
           .value = "X",
           .text = "Rate kept beside another process, as the planner believes.",
           .default_text = "0.76",
           .min = 0.01,
           .max = 1}};
}

}  // namespace septule::serve
