#include "serve/policies/parvagpu_policy.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "serve/parvagpu.hpp"
#include "serve/policies/baseline_parts.hpp"
#include "serve/policies/rate_book.hpp"

namespace septule::serve {

namespace {

constexpr int kNoTenant = -1;
constexpr int kBisections = 30;

struct ParvaGpuOptions {
  double headroom = 1.2;
  bool is_redeployed = false;
  int window_s = 200;
  WindowLoad load = WindowLoad::kForecast;
};

/// What one GPU is to hold.
struct GpuWishes {
  std::vector<SizeWish> serving;
  std::optional<int> lane_size;  ///< of the instance for retraining
  int retrains = kNoTenant;      ///< in it
};

class ParvaGpuPolicy final : public ServingPolicy {
 public:
  ParvaGpuPolicy(const ServingSetup& setup, const ParvaGpuOptions& options, RateBook rates)
      : setup_(setup), options_(options), rates_(std::move(rates)) {}

  std::string_view name() const override { return "parvagpu"; }
  DispatchRule dispatch() const override { return DispatchRule::kProportional; }

  /// The deployment for these mean rates; the scheduler's errors. Also tells at making whether
  /// there is one.
  Status deploy(std::span<const double> mean_rps) {
    SEPTULE_TRY(std::vector<ParvaGpuInstance> instances, fitting(mean_rps));
    gpus_.assign(static_cast<std::size_t>(setup_.gpu_count), {});
    std::map<int, std::size_t> numbers;  // its GPU numbers have gaps
    for (const ParvaGpuInstance& instance : instances) {
      const std::size_t gpu = numbers.try_emplace(instance.gpu, numbers.size()).first->second;
      const std::optional<int> size = setup_.lattice->size_of(instance.slices);
      if (gpu < gpus_.size() && size.has_value()) {
        gpus_[gpu].serving.push_back({*size,
                                      {.tenant = instance.service,
                                       .batch = instance.batch,
                                       .processes = instance.processes}});
      }
    }
    for (GpuWishes& gpu : gpus_) {
      gpu.lane_size = largest_beside(gpu.serving);
    }
    return {};
  }

  std::optional<Deployment> decide(const ServingView& view) override {
    rates_.observe(view);
    const auto now_s = static_cast<int>(view.now.to_nanoseconds() / 1'000'000'000);
    bool is_changed = !has_begun_;
    has_begun_ = true;
    if (options_.is_redeployed && now_s > 0 && now_s % options_.window_s == 0) {
      std::vector<double> means;
      for (int m = 0; m < static_cast<int>(setup_.tenants.size()); ++m) {
        means.push_back(mean_of(window_rates(rates_, options_.load, m, options_.window_s)));
      }
      // Where the new rates have no deployment the old one stays.
      is_changed = deploy(means).is_ok() || is_changed;
    }
    is_changed = assign_lanes(view) || is_changed;
    if (!is_changed) {
      return std::nullopt;
    }
    Deployment deployment;
    for (std::size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      const bool has_current = view.current != nullptr && gpu < view.current->gpus.size();
      std::vector<SizeWish> wishes = gpus_[gpu].serving;
      if (gpus_[gpu].retrains != kNoTenant) {
        wishes.push_back({gpus_[gpu].lane_size.value_or(0),
                          {.tenant = gpus_[gpu].retrains, .role = Role::kRetrain}});
      }
      deployment.gpus.push_back(
          place_wishes(
              *setup_.lattice, wishes, has_current ? view.current->gpus[gpu] : GpuDeployment())
              .value_or(GpuDeployment()));
    }
    return deployment;
  }

 private:
  Result<std::vector<ParvaGpuInstance>> at_factor(std::span<const double> mean_rps,
                                                  double factor) const {
    std::vector<ParvaGpuService> services;
    for (std::size_t m = 0; m < setup_.tenants.size(); ++m) {
      services.push_back({&setup_.tenants[m].tenant, std::max(mean_rps[m], 1e-3) * factor});
    }
    return deploy_parvagpu(services, setup_.rule.suspect, setup_.rule.processes_max);
  }
  bool fits(std::span<const ParvaGpuInstance> instances) const {
    std::map<int, int> gpus;
    for (const ParvaGpuInstance& instance : instances) {
      gpus.try_emplace(instance.gpu, 0);
    }
    return static_cast<int>(gpus.size()) <= setup_.gpu_count;
  }
  Result<std::vector<ParvaGpuInstance>> fitting(std::span<const double> mean_rps) const {
    SEPTULE_TRY(std::vector<ParvaGpuInstance> best, at_factor(mean_rps, options_.headroom));
    if (fits(best)) {
      return best;
    }
    double low = 0;
    double high = options_.headroom;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (low + high) / 2;
      SEPTULE_TRY(std::vector<ParvaGpuInstance> found, at_factor(mean_rps, middle));
      if (fits(found)) {
        low = middle;
        best = std::move(found);
      } else {
        high = middle;
      }
    }
    return best;  // the first GPUs of it where nothing fits: more tenants than instances
  }

  std::optional<int> largest_beside(std::span<const SizeWish> wishes) const {
    SizeTable<int> counts{};
    for (const SizeWish& wish : wishes) {
      ++counts[static_cast<std::size_t>(wish.size)];
    }
    for (std::size_t size = setup_.lattice->sizes().size(); size > 0; --size) {
      ++counts[size - 1];
      if (find_multiset(*setup_.lattice, counts).has_value()) {
        return static_cast<int>(size) - 1;
      }
      --counts[size - 1];
    }
    return std::nullopt;
  }

  /// Gives lanes that are free the next retraining by release; whether anything changed.
  bool assign_lanes(const ServingView& view) {
    bool is_changed = false;
    for (GpuWishes& gpu : gpus_) {
      const int before = gpu.retrains;
      if (before != kNoTenant &&
          is_retraining_pending(view.tenants[static_cast<std::size_t>(before)], view.now)) {
        continue;
      }
      gpu.retrains = kNoTenant;
      gpu.retrains = next_retraining(gpu, view);
      is_changed = is_changed || gpu.retrains != before;
    }
    return is_changed;
  }
  int next_retraining(const GpuWishes& gpu, const ServingView& view) const {
    int next = kNoTenant;
    for (int m = 0; gpu.lane_size.has_value() && m < static_cast<int>(view.tenants.size()); ++m) {
      const auto index = static_cast<std::size_t>(m);
      const double speed =
          setup_.tenants[index].retraining_speed[static_cast<std::size_t>(*gpu.lane_size)];
      if (speed <= 0 || !is_retraining_pending(view.tenants[index], view.now) ||
          std::ranges::count(gpus_, m, &GpuWishes::retrains) > 0) {
        continue;
      }
      if (next == kNoTenant ||
          view.tenants[index].retraining_release <
              view.tenants[static_cast<std::size_t>(next)].retraining_release) {
        next = m;
      }
    }
    return next;
  }

  ServingSetup setup_;
  ParvaGpuOptions options_;
  RateBook rates_;
  std::vector<GpuWishes> gpus_;
  bool has_begun_ = false;
};

}  // namespace

Result<std::unique_ptr<ServingPolicy>> make_parvagpu(const ServingSetup& setup) {
  if (whole_slices(*setup.lattice).value() != 7) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("policy parvagpu knows GPUs of seven compute slices only, and {} has "
                             "{}",
                             setup.lattice->geometry().key(),
                             whole_slices(*setup.lattice).value())};
  }
  ParvaGpuOptions options;
  options.headroom = setup.options.number("headroom", options.headroom);
  options.is_redeployed = setup.options.text("redeploy", "no") == "yes";
  options.window_s = static_cast<int>(setup.options.number("window-s", options.window_s));
  options.load = read_window_load(setup.options);
  SEPTULE_TRY(RateBook rates, RateBook::make(setup));
  auto policy = std::make_unique<ParvaGpuPolicy>(setup, options, std::move(rates));
  std::vector<double> means;
  for (const AdmittedTenant& tenant : setup.tenants) {
    means.push_back(tenant.tenant.rate.mean());
  }
  SEPTULE_TRY_STATUS(policy->deploy(means));
  return std::unique_ptr<ServingPolicy>(std::move(policy));
}

std::vector<OptionRecord> parvagpu_options() {
  return {{.name = "headroom",
           .value = "X",
           .text = "Multiple of the rates beyond which the deployment does not grow.",
           .default_text = "1.2",
           .min = 1,
           .max = 100},
          {.name = "redeploy",
           .value = "WHEN",
           .text = "Whether it deploys anew for each window.",
           .default_text = "no",
           .choices = {"no", "yes"}},
          window_length_option("Length of a window.", 3600),
          window_load_option()};
}

}  // namespace septule::serve
