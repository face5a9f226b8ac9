#include "serve/policies/paris.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "serve/policies/baseline_parts.hpp"
#include "serve/policies/paris_layout.hpp"
#include "serve/policies/rate_book.hpp"
#include "serve/tenant_split.hpp"

namespace septule::serve {

namespace {

constexpr int kNoTenant = -1;

struct ParisOptions {
  int window_s = 200;
  double knee = 0.9;
  bool is_slice_returned = false;
  WindowLoad load = WindowLoad::kForecast;
};

ParisOptions read_options(const PolicyOptions& options) {
  ParisOptions read;
  read.window_s = static_cast<int>(options.number("window-s", read.window_s));
  read.knee = options.number("knee", read.knee);
  read.is_slice_returned = options.text("return-slice", "no") == "yes";
  read.load = read_window_load(options);
  return read;
}

/// What a window's plan says of one GPU.
struct GpuPlan {
  ParisLayout layout;              // without the pinned slice; by place in the GPU's tenants
  std::optional<int> pinned_size;  // of the slice for retraining
  int least_covered = kNoTenant;
};

class ParisPolicy final : public ServingPolicy {
 public:
  ParisPolicy(const ServingSetup& setup, RateBook rates)
      : setup_(setup),
        options_(read_options(setup.options)),
        rates_(std::move(rates)),
        split_(assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)),
        plans_(static_cast<std::size_t>(setup.gpu_count)),
        in_pinned_(plans_.size(), kNoTenant) {
    for (const AdmittedTenant& tenant : setup.tenants) {
      curves_.push_back(batch_curves(*setup.lattice, tenant.tenant, setup.rule));
      for (std::size_t size = 0; size < kSizesMax; ++size) {
        if (!tenant.serving[size].has_value()) {
          curves_.back()[size].clear();
        }
      }
    }
  }

  std::string_view name() const override { return "paris-like"; }
  DispatchRule dispatch() const override { return DispatchRule::kSlack; }

  std::optional<Deployment> decide(const ServingView& view) override {
    rates_.observe(view);
    const auto now_s = static_cast<int>(view.now.to_nanoseconds() / 1'000'000'000);
    const bool is_planning = !has_planned_ || now_s % options_.window_s == 0;
    if (is_planning) {
      has_planned_ = true;
      for (std::size_t gpu = 0; gpu < split_.size(); ++gpu) {
        plans_[gpu] = plan_gpu(split_[gpu], view);
      }
    }
    std::vector<int> in_pinned;
    for (std::size_t gpu = 0; gpu < split_.size(); ++gpu) {
      in_pinned.push_back(next_retraining(gpu, view));
    }
    if (!is_planning && in_pinned == in_pinned_) {
      return std::nullopt;
    }
    in_pinned_ = in_pinned;
    Deployment deployment;
    for (std::size_t gpu = 0; gpu < split_.size(); ++gpu) {
      const bool has_current = view.current != nullptr && gpu < view.current->gpus.size();
      deployment.gpus.push_back(
          place(gpu, has_current ? view.current->gpus[gpu] : GpuDeployment()));
    }
    return deployment;
  }

 private:
  ParisTenant paris_tenant(int m) const {
    const auto index = static_cast<std::size_t>(m);
    const Tenant& tenant = setup_.tenants[index].tenant;
    const SizeTable<BatchCurve>& curves = curves_[index];
    int batch_max = 1;
    for (const BatchCurve& curve : curves) {
      batch_max = curve.empty() ? batch_max : std::max(batch_max, curve.back().first);
    }
    const std::vector<double> rates = window_rates(rates_, options_.load, m, options_.window_s);
    const BatchLoad load =
        batch_load(rates, setup_.rule.margin * tenant.slo.to_seconds(), batch_max);
    double expected = 0;
    for (const auto& [batch, rate] : load) {
      expected += rate;
    }
    ParisTenant known{.need = segment_counts(curves, knee_batches(curves, options_.knee), load),
                      .expected_rps = expected};
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      known.rate_rps[size] = setup_.tenants[index].throughput_rps(static_cast<int>(size));
    }
    return known;
  }

  /// Whether a retraining of this tenant has to be done in the window that begins now.
  bool is_due(const TenantState& state, SimTime now) const {
    const SimTime end = now + Duration::milliseconds(1000 * std::int64_t{options_.window_s});
    return !state.is_retrained && state.retraining_left_s > 0 &&
           state.retraining_release.has_value() && *state.retraining_release < end &&
           (!state.retraining_deadline.has_value() || now < *state.retraining_deadline);
  }

  GpuPlan plan_gpu(std::span<const int> tenants, const ServingView& view) const {
    GpuPlan plan;
    if (tenants.empty()) {
      return plan;
    }
    std::vector<ParisTenant> known;
    std::vector<int> due;
    for (const int m : tenants) {
      known.push_back(paris_tenant(m));
      if (is_due(view.tenants[static_cast<std::size_t>(m)], view.now)) {
        due.push_back(m);
      }
    }
    std::vector<SizeTable<int>> multisets;
    for (const LayoutLattice::Multiset& multiset : setup_.lattice->multisets()) {
      if (multiset.is_undominated) {
        multisets.push_back(multiset.counts);
      }
    }
    plan.layout = choose_paris_layout(*setup_.lattice, multisets, known);
    if (!due.empty()) {
      pin_slice(plan, known, sizes_to_retrain_on(due, view));
    }
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i].expected_rps > 0 && covered(plan.layout.counts[i], known[i]) < least) {
        least = covered(plan.layout.counts[i], known[i]);
        plan.least_covered = tenants[i];
      }
    }
    return plan;
  }

  static double covered(const SizeTable<int>& counts, const ParisTenant& tenant) {
    double rate = 0;
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      rate += counts[size] * tenant.rate_rps[size];
    }
    return tenant.expected_rps > 0 ? rate / tenant.expected_rps
                                   : std::numeric_limits<double>::infinity();
  }

  /// Sizes on which one of these retrainings can end by its deadline.
  SizeTable<bool> sizes_to_retrain_on(std::span<const int> due, const ServingView& view) const {
    SizeTable<bool> fits{};
    for (const int m : due) {
      const AdmittedTenant& tenant = setup_.tenants[static_cast<std::size_t>(m)];
      const TenantState& state = view.tenants[static_cast<std::size_t>(m)];
      const SimTime begin = std::max(view.now, state.retraining_release.value_or(view.now));
      const double left_s =
          (state.retraining_deadline.value_or(SimTime::never()) - begin).to_seconds() -
          tenant.tenant.warm_up.p90.to_seconds();
      for (std::size_t size = 0; size < kSizesMax; ++size) {
        const double speed = tenant.retraining_speed[size];
        fits[size] = fits[size] || (speed > 0 && state.retraining_left_s / speed <= left_s);
      }
    }
    return fits;
  }

  /// The largest slice of the layout whose loss leaves its tenant covered; nothing = none.
  static std::optional<int> spare_slice(const GpuPlan& plan,
                                        std::span<const ParisTenant> tenants,
                                        const SizeTable<bool>& fits) {
    for (std::size_t size = kSizesMax; size > 0; --size) {
      for (std::size_t i = 0; i < tenants.size() && fits[size - 1]; ++i) {
        SizeTable<int> left = plan.layout.counts[i];
        if (left[size - 1] > 0) {
          --left[size - 1];
          if (covered(left, tenants[i]) >= 1) {
            return static_cast<int>(size) - 1;
          }
        }
      }
    }
    return std::nullopt;
  }

  /// Keeps one slice for retraining and shares the rest anew. Where that would leave a tenant
  /// without anything, nothing is kept.
  void pin_slice(GpuPlan& plan,
                 std::span<const ParisTenant> tenants,
                 const SizeTable<bool>& fits) const {
    std::vector<SizeTable<int>> rests;
    std::optional<int> pinned = spare_slice(plan, tenants, fits);
    if (pinned.has_value()) {
      SizeTable<int> rest{};
      for (const SizeTable<int>& counts : plan.layout.counts) {
        for (std::size_t size = 0; size < kSizesMax; ++size) {
          rest[size] += counts[size];
        }
      }
      --rest[static_cast<std::size_t>(*pinned)];
      rests.push_back(rest);
    } else {
      // No slice is spare: the smallest that can do it, in whichever layout leaves most.
      for (std::size_t size = 0; size < kSizesMax && !pinned.has_value(); ++size) {
        pinned = fits[size] ? std::optional(static_cast<int>(size)) : std::nullopt;
      }
      for (const LayoutLattice::Multiset& multiset : setup_.lattice->multisets()) {
        if (pinned.has_value() && multiset.is_undominated &&
            multiset.counts[static_cast<std::size_t>(*pinned)] > 0) {
          rests.push_back(multiset.counts);
          --rests.back()[static_cast<std::size_t>(*pinned)];
        }
      }
    }
    if (rests.empty()) {
      return;
    }
    ParisLayout layout = choose_paris_layout(*setup_.lattice, rests, tenants);
    if (layout.covered > 0 || plan.layout.covered <= 0) {
      plan.layout = std::move(layout);
      plan.pinned_size = pinned;
    }
  }

  /// Whose retraining the pinned slice does: the one there until it is done, then the earliest
  /// released.
  int next_retraining(std::size_t gpu, const ServingView& view) const {
    const std::optional<int> size = plans_[gpu].pinned_size;
    int next = kNoTenant;
    for (const int m : split_[gpu]) {
      const auto index = static_cast<std::size_t>(m);
      if (!size.has_value() || !is_retraining_pending(view.tenants[index], view.now) ||
          setup_.tenants[index].retraining_speed[static_cast<std::size_t>(*size)] <= 0) {
        continue;
      }
      if (m == in_pinned_[gpu]) {
        return m;
      }
      if (next == kNoTenant ||
          view.tenants[index].retraining_release <
              view.tenants[static_cast<std::size_t>(next)].retraining_release) {
        next = m;
      }
    }
    return next;
  }

  GpuDeployment place(std::size_t gpu, const GpuDeployment& current) const {
    const GpuPlan& plan = plans_[gpu];
    std::vector<SizeWish> wishes;
    for (std::size_t i = 0; i < plan.layout.counts.size(); ++i) {
      const int m = split_[gpu][i];
      for (int size = 0; size < static_cast<int>(setup_.lattice->sizes().size()); ++size) {
        const int count = plan.layout.counts[i][static_cast<std::size_t>(size)];
        const AdmittedTenant& tenant = setup_.tenants[static_cast<std::size_t>(m)];
        if (count > 0 && tenant.serving[static_cast<std::size_t>(size)].has_value()) {
          wishes.insert(wishes.end(),
                        static_cast<std::size_t>(count),
                        SizeWish{size, serving_occupant(tenant, m, size)});
        }
      }
    }
    if (plan.pinned_size.has_value()) {
      add_pinned(wishes, *plan.pinned_size, in_pinned_[gpu], plan.least_covered);
    }
    return place_wishes(*setup_.lattice, wishes, current).value_or(GpuDeployment());
  }

  void add_pinned(std::vector<SizeWish>& wishes, int size, int retrained, int least_covered) const {
    if (retrained != kNoTenant) {
      wishes.push_back({size, {.tenant = retrained, .role = Role::kRetrain}});
      return;
    }
    if (!options_.is_slice_returned || least_covered == kNoTenant) {
      return;
    }
    const AdmittedTenant& tenant = setup_.tenants[static_cast<std::size_t>(least_covered)];
    if (tenant.serving[static_cast<std::size_t>(size)].has_value()) {
      wishes.push_back({size, serving_occupant(tenant, least_covered, size)});
    }
  }

  ServingSetup setup_;
  ParisOptions options_;
  RateBook rates_;
  std::vector<std::vector<int>> split_;
  std::vector<SizeTable<BatchCurve>> curves_;
  std::vector<GpuPlan> plans_;  // by GPU
  std::vector<int> in_pinned_;  // tenant retraining there, by GPU
  bool has_planned_ = false;
};

}  // namespace

Result<std::unique_ptr<ServingPolicy>> make_paris_like(const ServingSetup& setup) {
  SEPTULE_TRY(RateBook rates, RateBook::make(setup));
  return std::unique_ptr<ServingPolicy>(std::make_unique<ParisPolicy>(setup, std::move(rates)));
}

std::vector<OptionRecord> paris_like_options() {
  return {window_length_option("How long a layout is kept.", 3600),
          {.name = "knee",
           .value = "X",
           .text = "Part of a slice's best throughput that its knee batch reaches.",
           .default_text = "0.9",
           .min = 0.01,
           .max = 1},
          {.name = "return-slice",
           .value = "WHEN",
           .text = "Whether the slice of retraining serves once retraining is done.",
           .default_text = "no",
           .choices = {"no", "yes"}},
          window_load_option()};
}

}  // namespace septule::serve
