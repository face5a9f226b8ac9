// Prints what windows of jobs gain over time sharing (docs/benchmarks.md, "Windows of jobs"): on
// measured pairs of jobs (reference material), and on generated windows by mix of classes.
//   window_report DIRECTORY    root of the reference material (data/hierarchical below it)
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "gpu/builtin_catalogue.hpp"
#include "optimize/measured_windows.hpp"
#include "optimize/refill.hpp"
#include "optimize/window_baselines.hpp"
#include "optimize/window_bound.hpp"
#include "optimize/window_check.hpp"
#include "optimize/window_dp.hpp"
#include "optimize/window_heuristics.hpp"
#include "predict/job_generator.hpp"

namespace septule {
namespace {

using optimize::GroupClock;
using optimize::WindowOptimizer;
using optimize::WindowProblem;

constexpr std::size_t kWindow = 12;
constexpr std::uint64_t kSeeds = 8;
constexpr std::uint64_t kWindowsOfSeed = 60;

/// Gains of one method over all windows.
struct Gains {
  std::vector<double> all;

  double mean() const {
    double sum = 0;
    for (const double gain : all) {
      sum += gain;
    }
    return sum / static_cast<double>(all.size());
  }
  double standard_error() const {
    const double middle = mean();
    double sum = 0;
    for (const double gain : all) {
      sum += (gain - middle) * (gain - middle);
    }
    const auto n = static_cast<double>(all.size());
    return std::sqrt(sum / (n - 1) / n);
  }
  /// Least and greatest mean of a seed's windows.
  std::array<double, 2> by_seed() const {
    std::array<double, 2> ends = {1e9, 0};
    const std::size_t each = all.size() / kSeeds;
    for (std::size_t from = 0; from + each <= all.size(); from += each) {
      double sum = 0;
      for (std::size_t i = from; i < from + each; ++i) {
        sum += all[i] / static_cast<double>(each);
      }
      ends = {std::min(ends[0], sum), std::max(ends[1], sum)};
    }
    return ends;
  }
  double max() const { return *std::ranges::max_element(all); }
  double min() const { return *std::ranges::min_element(all); }
};

/// Searches take all that they are given; the exact method ends by itself.
std::int64_t units_for(const WindowOptimizer& method) {
  constexpr std::int64_t kEnough = 1'000'000'000;
  return method.name() == optimize::RefillOptimizer().name()
             ? optimize::RefillOptimizer::kUnitsDefault
             : kEnough;
}

double gain_of(const WindowOptimizer& method, const WindowProblem& problem) {
  WorkBudget budget(units_for(method));
  const auto answer = method.optimize(problem, budget);
  SEPTULE_CHECK(answer.has_value(), "every window has an answer");
  SEPTULE_CHECK(optimize::check_window_answer(problem, *answer).empty(),
                "the independent checker finds nothing wrong");
  double solo = 0;
  for (const plan::WindowJob& job : problem.jobs) {
    solo += job.solo.to_seconds();
  }
  return solo / answer->time.to_seconds();
}

enum class Seeds { kShown, kNotShown };
void print_gains(std::string_view name, const Gains& gains, Seeds seeds) {
  fmt::print("  {:<52} mean {:.3f} +- {:.3f}", name, gains.mean(), gains.standard_error());
  if (seeds == Seeds::kShown) {
    fmt::print(" (seeds {:.2f} to {:.2f})", gains.by_seed()[0], gains.by_seed()[1]);
  }
  fmt::print("  min {:.3f}  max {:.3f}\n", gains.min(), gains.max());
  static_cast<void>(std::fflush(stdout));
}

gpu::SharingCatalogue catalogue_of(const gpu::Geometry& gpu, gpu::SharingOptions options) {
  auto made = gpu::make_sharing_catalogue(gpu, options);
  SEPTULE_CHECK(made.has_value(), "the options are valid");
  return std::move(made).value();
}

/// Templates without percentages (the measured pairs have none), up to so many jobs.
gpu::SharingCatalogue measured_catalogue(const gpu::Geometry& gpu,
                                         int concurrency,
                                         std::vector<gpu::SharingFamily> families) {
  return catalogue_of(
      gpu, {.concurrency_max = concurrency, .percentages = {}, .families = std::move(families)});
}

/// The one template of this name, so that its part can be told apart; time sharing beside it.
gpu::SharingCatalogue only_template(gpu::SharingCatalogue all, std::string_view name) {
  std::erase_if(all.templates, [name](const gpu::SharingTemplate& one) {
    return one.name != name && one.family != gpu::SharingFamily::kTimeSharing;
  });
  SEPTULE_CHECK(all.templates.size() == 2, "the template is there");
  return all;
}

/// Some templates and what they are called.
struct Row {
  std::string name;
  gpu::SharingCatalogue catalogue;
  bool is_refilled = false;  ///< shown with refilled seats, too
};

std::vector<Row> measured_rows(const gpu::Geometry& gpu) {
  using gpu::SharingFamily;
  const std::vector<SharingFamily> mps = {SharingFamily::kTimeSharing, SharingFamily::kMpsOnly};
  const std::vector<SharingFamily> mig = {SharingFamily::kTimeSharing, SharingFamily::kMigPrivate};
  std::vector<Row> rows;
  rows.push_back({"MPS only, up to 2", measured_catalogue(gpu, 2, mps)});
  for (int concurrency = 2; concurrency <= 4; ++concurrency) {
    rows.push_back({fmt::format("MIG only, up to {}", concurrency),
                    measured_catalogue(gpu, concurrency, mig)});
    rows.push_back({fmt::format("MIG + MPS, up to {}", concurrency),
                    measured_catalogue(gpu, concurrency, {}),
                    concurrency == 4});
  }
  rows.push_back({"MIG + MPS, 4g{2}+3g{2} alone",
                  only_template(measured_catalogue(gpu, 4, {}), "4g{2}+3g{2}"),
                  true});
  return rows;
}

/// Windows of measured jobs: `count` of each seed.
std::vector<test::DrawnWindow> drawn_windows(const test::MeasuredWindows& all,
                                             std::size_t size,
                                             std::uint64_t count) {
  std::vector<test::DrawnWindow> windows;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (std::uint64_t i = 0; i < count; ++i) {
      windows.push_back(test::draw_measured(all, size, Rng(seed).stream("window", i)));
    }
  }
  return windows;
}

WindowProblem measured_problem(const test::DrawnWindow& window,
                               const gpu::SharingCatalogue& catalogue,
                               GroupClock clock) {
  return {.jobs = window.jobs,
          .model = window.model.get(),
          .catalogue = &catalogue,
          .traits = {},
          .rules = {.mps_users = plan::SharingRules::Users::kAnyUsers},
          .clock = clock,
          .initial = std::nullopt};
}

void print_method(const WindowOptimizer& method,
                  const std::vector<test::DrawnWindow>& windows,
                  GroupClock clock,
                  const Row& row) {
  Gains gains;
  for (const test::DrawnWindow& window : windows) {
    gains.all.push_back(gain_of(method, measured_problem(window, row.catalogue, clock)));
  }
  print_gains(row.name, gains, Seeds::kShown);
}

/// What no schedule of these templates can reach, whatever refills what.
void print_bound(const std::vector<test::DrawnWindow>& windows, const Row& row) {
  Gains gains;
  for (const test::DrawnWindow& window : windows) {
    WorkBudget budget(1'000'000'000);
    const auto bound = optimize::bound_window(
        measured_problem(window, row.catalogue, GroupClock::kSpeedUp), budget);
    SEPTULE_CHECK(bound.has_value() && bound->has_value(), "small windows have a bound");
    const double solo = static_cast<double>(window.jobs.size()) * window.jobs[0].solo.to_seconds();
    gains.all.push_back(solo / (*bound)->lower_bound.to_seconds());
  }
  print_gains(row.name + ": no schedule gains more", gains, Seeds::kShown);
}

/// The tail of a window, where seats run dry, weighs less the longer the queue is.
void print_longer(const test::MeasuredWindows& all, const Row& row) {
  for (const std::size_t size : {std::size_t{24}, std::size_t{36}, std::size_t{44}}) {
    const std::uint64_t count = size == all.names.size() ? 1 : 4;
    print_method(optimize::RefillOptimizer(),
                 drawn_windows(all, size, count),
                 GroupClock::kRefill,
                 {fmt::format("{}, {} jobs", row.name, size), row.catalogue});
  }
}

void print_measured(const gpu::Geometry& gpu, const std::filesystem::path& root) {
  const test::MeasuredWindows all = test::measured_windows(gpu, root);
  const std::vector<test::DrawnWindow> windows = drawn_windows(all, kWindow, kWindowsOfSeed);
  fmt::print("{} measured jobs, {} windows of {} without replacement, equal work\n",
             all.names.size(),
             windows.size(),
             kWindow);
  const std::vector<Row> rows = measured_rows(gpu);
  for (const GroupClock clock :
       {GroupClock::kSteadyState, GroupClock::kIdle, GroupClock::kSpeedUp}) {
    fmt::print("clock {} (exact)\n", optimize::group_clock_name(clock));
    for (const Row& row : rows) {
      print_method(optimize::WindowDp(), windows, clock, row);
    }
  }
  fmt::print("clock refill (search of {} units)\n", optimize::RefillOptimizer::kUnitsDefault);
  for (const Row& row : rows) {
    if (row.is_refilled) {
      print_method(optimize::RefillOptimizer(), windows, GroupClock::kRefill, row);
      print_bound(windows, row);
      print_longer(all, row);
    }
  }
}

struct Mix {
  std::string name;
  predict::ClassMix of_class{};
};

/// By enumeration of JobClass: CI, MI, US, PU.
std::vector<Mix> class_mixes() {
  return {{"CI 12", {12, 0, 0, 0}},
          {"MI 12", {0, 12, 0, 0}},
          {"US 12", {0, 0, 12, 0}},
          {"PU 12", {0, 0, 0, 12}},
          {"CI 6, MI 6", {6, 6, 0, 0}},
          {"CI 6, US 6", {6, 0, 6, 0}},
          {"MI 6, US 6", {0, 6, 6, 0}},
          {"each 3", {3, 3, 3, 3}},
          {"as drawn", {0, 0, 0, 0}}};
}

/// A pool in which every class has enough jobs to be drawn from: first jobs as they come, then so
/// many of each class, so that every part of the pool has its share of each.
std::vector<predict::GeneratedJob> mixed_pool(const gpu::Geometry& gpu) {
  constexpr std::size_t kOfClass = 150;
  const predict::JobGenerator generator(gpu, 1);
  std::vector<predict::GeneratedJob> pool;
  const auto add = [&pool, &generator](std::optional<predict::JobClass> job_class) {
    auto jobs = generator.pool(kOfClass, job_class);
    SEPTULE_CHECK(jobs.has_value(), "every class can be drawn on this GPU");
    for (predict::GeneratedJob& job : *jobs) {
      pool.push_back(std::move(job));
    }
  };
  add(std::nullopt);
  for (const auto job_class : {predict::JobClass::kComputeIntensive,
                               predict::JobClass::kMemoryIntensive,
                               predict::JobClass::kUnscalable,
                               predict::JobClass::kPartlyUnscalable}) {
    add(job_class);
  }
  return pool;
}

void print_generated(const gpu::Geometry& gpu) {
  constexpr std::uint64_t kWindows = 20;
  const std::vector<predict::GeneratedJob> pool = mixed_pool(gpu);
  const gpu::SharingCatalogue catalogue = catalogue_of(gpu, {});
  const optimize::WindowDp exact;
  const optimize::GreedyOptimizer greedy;
  const optimize::RefillOptimizer refill;
  const optimize::BaselineOptimizer mps(optimize::Baseline::kMpsOnly);
  const optimize::BaselineOptimizer mig(optimize::Baseline::kMigOnly);
  const optimize::BaselineOptimizer both(optimize::Baseline::kMigMpsDefault);
  const std::vector<const WindowOptimizer*> methods = {&mps, &mig, &both, &greedy, &exact, &refill};
  fmt::print("generated windows of {}, {} of each mix, splits 25/50/75, clock speed-up\n",
             kWindow,
             kWindows);
  for (const Mix& mix : class_mixes()) {
    std::vector<Gains> gains(methods.size());
    for (std::uint64_t i = 0; i < kWindows; ++i) {
      Rng rng = Rng(1).stream("mix " + mix.name, i);
      predict::WindowDraw draw{.size = kWindow, .of_class = mix.of_class};
      const auto members = predict::draw_window(pool, draw, rng);
      SEPTULE_CHECK(members.has_value(), "the pool has enough of every class");
      std::vector<plan::WindowJob> jobs;
      std::vector<predict::LawJob> laws;
      for (const std::size_t member : *members) {
        jobs.push_back({.name = fmt::format("{}", member),
                        .user = "",
                        .trust = "",
                        .memory = pool[member].memory,
                        .solo = pool[member].traits.solo});
        laws.push_back(pool[member].law);
      }
      const auto model = predict::LawCoRunModel::make(gpu, laws, catalogue.domains);
      SEPTULE_CHECK(model.has_value(), "generated jobs are valid");
      const WindowProblem problem{.jobs = jobs,
                                  .model = model->get(),
                                  .catalogue = &catalogue,
                                  .traits = {},
                                  .rules = {.mps_users = plan::SharingRules::Users::kAnyUsers},
                                  .initial = std::nullopt};
      for (std::size_t m = 0; m < methods.size(); ++m) {
        gains[m].all.push_back(gain_of(*methods[m], problem));
      }
    }
    fmt::print(" {}\n", mix.name);
    for (std::size_t m = 0; m < methods.size(); ++m) {
      print_gains(methods[m]->name(), gains[m], Seeds::kNotShown);
    }
  }
}

int run(const std::filesystem::path& root) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const auto gpu = catalogue.find("A100-80GB");
  SEPTULE_CHECK(gpu.has_value(), "the GPU is in the catalogue");
  print_measured(**gpu, root);
  print_generated(**gpu);
  return 0;
}

}  // namespace
}  // namespace septule

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: window_report DIRECTORY (root of the reference material)\n");
    return 2;
  }
  const std::filesystem::path root = argv[1];
  std::error_code ignored;
  if (!std::filesystem::exists(root / "data/hierarchical", ignored)) {
    fmt::print(stderr, "window_report: {} has no data/hierarchical\n", root.string());
    return 4;
  }
  return septule::run(root);
}
