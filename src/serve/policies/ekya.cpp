#include "serve/policies/ekya.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/rng.hpp"
#include "serve/mps_share_model.hpp"
#include "serve/policies/baseline_parts.hpp"
#include "serve/policies/rate_book.hpp"
#include "serve/policies/thief.hpp"
#include "serve/tenant_split.hpp"

namespace septule::serve {

namespace {

/// Standard deviation of a normal error whose median size is 1: 1 / (third quartile).
constexpr double kSigmaOfMedian = 1 / 0.6744897501960817;

struct EkyaOptions {
  int quanta = 7;
  int window_s = 200;
  int profiling_s = 4;  // whole seconds
  double error = 0.058;
  double phi = MpsShareModel::kPhiMedian;
  WindowLoad load = WindowLoad::kForecast;
};

EkyaOptions read_options(const PolicyOptions& options) {
  EkyaOptions read;
  read.quanta = static_cast<int>(options.number("quanta", read.quanta));
  read.window_s = static_cast<int>(options.number("window-s", read.window_s));
  read.profiling_s = static_cast<int>(std::lround(options.number("profiling-s", 4.4)));
  read.error = options.number("profiling-error", read.error);
  read.phi = options.number("phi", read.phi);
  read.load = read_window_load(options);
  return read;
}

class EkyaPolicy final : public ServingPolicy {
 public:
  EkyaPolicy(const ServingSetup& setup, RateBook rates)
      : setup_(setup),
        options_(read_options(setup.options)),
        model_(options_.phi),
        rates_(std::move(rates)),
        split_(assign_tenants_to_gpus(*setup.lattice, setup.tenants, setup.gpu_count)),
        books_(setup.tenants.size()) {
    for (std::size_t m = 0; m < setup.tenants.size(); ++m) {
      errors_.push_back(Rng(setup.seed).stream("ekya-profiling", m));
      fill_points(m);
    }
  }

  std::string_view name() const override { return "ekya-like"; }
  DispatchRule dispatch() const override { return DispatchRule::kProportional; }

  std::optional<Deployment> decide(const ServingView& view) override {
    rates_.observe(view);
    const auto now_s = static_cast<int>(view.now.to_nanoseconds() / 1'000'000'000);
    const std::vector<bool> pending = pending_retraining(view);
    if (!has_planned_ || now_s % options_.window_s == 0 || pending != pending_) {
      has_planned_ = true;
      pending_ = pending;
      return plan(view, now_s);
    }
    if (waiting_.has_value() && now_s >= profiled_at_s_) {
      std::optional<Deployment> deployment = std::move(waiting_);
      waiting_.reset();
      return deployment;
    }
    return std::nullopt;
  }

 private:
  /// Of one tenant.
  struct Book {
    std::vector<std::optional<SharePoint>> points;  // by quanta
    double estimate = 0;                            // of the accuracy after this retraining
    std::optional<SimTime> profiled;                // release of the job that was profiled last
  };

  ActiveThreadPercentage share(int quanta) const { return share_of(quanta, options_.quanta); }

  void fill_points(std::size_t m) {
    books_[m].points.emplace_back();
    for (int quanta = 1; quanta <= options_.quanta; ++quanta) {
      books_[m].points.push_back(best_share_point(
          setup_.tenants[m].tenant,
          model_,
          {.gpu_slices = whole_slices(*setup_.lattice),
           .share = share(quanta),
           .company = quanta == options_.quanta ? MpsCompany::kAlone : MpsCompany::kShared,
           .rule = setup_.rule}));
    }
  }

  /// Profiles retrainings not seen before; whether there was one.
  bool profile_new_jobs(const ServingView& view) {
    bool is_new = false;
    for (std::size_t m = 0; m < books_.size(); ++m) {
      Book& book = books_[m];
      if (!pending_[m] || book.profiled == view.tenants[m].retraining_release) {
        continue;
      }
      book.profiled = view.tenants[m].retraining_release;
      const double accuracy = accuracy_after(setup_.tenants[m].tenant);
      const double error = errors_[m].normal(0, options_.error * kSigmaOfMedian);
      book.estimate = std::clamp(accuracy * (1 + error), 0.0, 1.0);
      is_new = true;
    }
    return is_new;
  }

  ThiefTenant thief_tenant(const ServingView& view, int m, int window_left_s) const {
    const AdmittedTenant& admitted = setup_.tenants[static_cast<std::size_t>(m)];
    const TenantState& state = view.tenants[static_cast<std::size_t>(m)];
    const Book& book = books_[static_cast<std::size_t>(m)];
    ThiefTenant tenant;
    tenant.expected_rps = mean_of(
        window_rates(rates_,
                     options_.load,
                     m,
                     options_.load == WindowLoad::kForecast ? window_left_s : options_.window_s));
    tenant.accuracy =
        state.is_retrained ? accuracy_after(admitted.tenant) : admitted.tenant.accuracy;
    for (const std::optional<SharePoint>& point : book.points) {
      tenant.rate_rps.push_back(point.has_value() ? point->yield.throughput_rps : 0);
    }
    if (!pending_[static_cast<std::size_t>(m)]) {
      return tenant;
    }
    const double start_s = is_retraining_running(view, m)
                               ? 0
                               : std::max(0.0, profiled_at_s_ - view.now.to_seconds()) +
                                     admitted.tenant.warm_up.p90.to_seconds();
    ThiefTenant::Retraining retraining{.finish_s = {}, .accuracy_after = book.estimate};
    retraining.finish_s.push_back(std::numeric_limits<double>::infinity());
    for (int quanta = 1; quanta <= options_.quanta; ++quanta) {
      const MpsCompany company =
          quanta == options_.quanta ? MpsCompany::kAlone : MpsCompany::kShared;
      retraining.finish_s.push_back(start_s + state.retraining_left_s /
                                                  model_.retraining_factor(share(quanta), company));
    }
    tenant.retraining = std::move(retraining);
    return tenant;
  }

  GpuDeployment gpu_of(const ThiefAllocation& allocation, std::span<const int> tenants) const {
    std::vector<Occupant> occupants;
    for (std::size_t i = 0; i < tenants.size(); ++i) {
      const int quanta = allocation.inference[i];
      const std::optional<SharePoint>& point =
          books_[static_cast<std::size_t>(tenants[i])].points[static_cast<std::size_t>(quanta)];
      if (point.has_value()) {
        occupants.push_back({.tenant = tenants[i],
                             .role = Role::kServe,
                             .batch = point->batch,
                             .processes = point->processes,
                             .share = share(quanta)});
      }
      if (allocation.retraining[i] > 0) {
        occupants.push_back({.tenant = tenants[i],
                             .role = Role::kRetrain,
                             .share = share(allocation.retraining[i])});
      }
    }
    return shared_gpu(std::move(occupants));
  }

  Deployment plan(const ServingView& view, int now_s) {
    waiting_.reset();
    if (profile_new_jobs(view)) {
      profiled_at_s_ = now_s + options_.profiling_s;
    }
    const int window_left_s = options_.window_s - now_s % options_.window_s;
    Deployment deployment;
    for (const std::vector<int>& tenants : split_) {
      std::vector<ThiefTenant> known;
      for (const int m : tenants) {
        known.push_back(thief_tenant(view, m, window_left_s));
      }
      deployment.gpus.push_back(
          known.empty() ? GpuDeployment()
                        : gpu_of(thief_schedule(known, options_.quanta, window_left_s), tenants));
    }
    if (now_s >= profiled_at_s_) {
      return deployment;
    }
    waiting_ = deployment;
    return without_new_retraining(std::move(deployment), view);
  }

  /// What can be set up while the micro-profiler still runs.
  static Deployment without_new_retraining(Deployment deployment, const ServingView& view) {
    for (GpuDeployment& gpu : deployment.gpus) {
      for (ServingInstance& instance : gpu.instances) {
        std::erase_if(instance.occupants, [&](const Occupant& occupant) {
          return occupant.role == Role::kRetrain && !is_retraining_running(view, occupant.tenant);
        });
      }
      std::erase_if(gpu.instances,
                    [](const ServingInstance& instance) { return instance.occupants.empty(); });
    }
    return deployment;
  }

  ServingSetup setup_;
  EkyaOptions options_;
  MpsShareModel model_;
  RateBook rates_;
  std::vector<std::vector<int>> split_;
  std::vector<Book> books_;
  std::vector<Rng> errors_;  // of profiling, by tenant
  bool has_planned_ = false;
  std::vector<bool> pending_;
  int profiled_at_s_ = 0;
  std::optional<Deployment> waiting_;  // from profiled_at_s_ on
};

}  // namespace

Result<std::unique_ptr<ServingPolicy>> make_ekya_like(const ServingSetup& setup) {
  SEPTULE_TRY(RateBook rates, RateBook::make(setup));
  return std::unique_ptr<ServingPolicy>(std::make_unique<EkyaPolicy>(setup, std::move(rates)));
}

std::vector<OptionRecord> ekya_like_options() {
  return {{.name = "quanta",
           .value = "N",
           .text = "Parts into which the thief scheduler divides a GPU.",
           .default_text = "7",
           .min = 1,
           .max = 100,
           .is_integer = true},
          window_length_option("Length of a retraining window.", 86400),
          {.name = "profiling-s",
           .value = "S",
           .text = "Micro-profiling before a new retraining starts, rounded to whole seconds.",
           .unit = "s",
           .default_text = "4.4",
           .min = 0,
           .max = 600},
          {.name = "profiling-error",
           .value = "X",
           .text = "Median relative error of the accuracy that profiling foretells.",
           .default_text = "0.058",
           .min = 0,
           .max = 1},
          {.name = "phi",
           .value = "X",
           .text = "Rate kept beside another process, as the planner believes.",
           .default_text = "0.76",
           .min = 0.01,
           .max = 1},
          window_load_option()};
}

}  // namespace septule::serve
