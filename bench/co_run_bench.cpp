// What windows of jobs ask of co-run models: one answer, a model's making, and the times of all
// sets of 12 jobs in all seats of all memory domains of a GPU (docs/benchmarks.md). Jobs are drawn
// before the clock runs.
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "optimize/group_time.hpp"
#include "predict/any_law.hpp"
#include "predict/law_co_run.hpp"

namespace septule {
namespace {

using predict::CoRunClient;
using predict::LawCoRunModel;
using predict::LawJob;
using predict::SignatureModel;

constexpr std::size_t kJobs = 12;

/// A GPU, its templates and jobs for it.
struct Setting {
  gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry& gpu = **catalogue.find("A100-80GB");
  gpu::SharingCatalogue sharing = make_sharing();
  std::vector<LawJob> jobs;
  std::vector<plan::WindowJob> window;

  Setting() {
    Rng rng(7);
    for (std::size_t i = 0; i < kJobs; ++i) {
      jobs.push_back(predict::test::any_law(rng));
      window.push_back(
          {.name = std::to_string(i),
           .user = "u",
           .trust = "",
           .memory = Bytes::mebibytes(1024 + rng.below(16384)),
           .solo = Duration::milliseconds(static_cast<std::int64_t>(60000 + rng.below(540000)))});
    }
  }
  gpu::SharingCatalogue make_sharing() const {
    auto made = gpu::make_sharing_catalogue(gpu, {});
    SEPTULE_CHECK(made.has_value(), "the defaults are valid");
    return std::move(made).value();
  }
  std::unique_ptr<LawCoRunModel> model() const {
    auto made = LawCoRunModel::make(gpu, jobs, sharing.domains);
    SEPTULE_CHECK(made.has_value(), "the jobs are valid");
    return std::move(made).value();
  }
};

/// Rates of all jobs of a domain: of its first `count` seats.
void rates(benchmark::State& state, const char* template_name) {
  const Setting setting;
  const auto model = setting.model();
  const gpu::MemoryDomain* domain = nullptr;
  for (const gpu::SharingTemplate& one : setting.sharing.templates) {
    if (one.name == template_name) {
      domain = &setting.sharing.domains[one.domains[0]];
    }
  }
  SEPTULE_CHECK(domain != nullptr, "the template exists");
  const predict::CoRunPlace place{.profile = domain->profile,
                                  .compute = {domain->compute.begin(), domain->compute.end()}};
  Rng rng(3);
  constexpr std::size_t kInputs = 256;
  std::vector<InlineVector<CoRunClient, gpu::kSeatsMax>> inputs(kInputs);
  for (auto& clients : inputs) {
    std::array<std::size_t, kJobs> order{};
    for (std::size_t i = 0; i < kJobs; ++i) {
      order[i] = i;
    }
    rng.shuffle<std::size_t>(order);
    for (std::size_t seat = 0; seat < domain->seats.size(); ++seat) {
      clients.push_back({.job = order[seat],
                         .compute = domain->seats[seat].compute,
                         .atp = domain->seats[seat].atp});
    }
  }
  std::array<double, gpu::kSeatsMax> out{};
  std::size_t at = 0;
  for (auto unused : state) {
    model->rates(
        place, {inputs[at].begin(), inputs[at].end()}, std::span(out).first(domain->seats.size()));
    benchmark::DoNotOptimize(out);
    at = (at + 1) % kInputs;
  }
}

void make_model(benchmark::State& state) {
  const Setting setting;
  for (auto unused : state) {
    benchmark::DoNotOptimize(setting.model());
  }
}

/// Of jobs of which four slices were measured.
void make_model_of_signatures(benchmark::State& state) {
  Setting setting;
  std::vector<SignatureModel> signatures;
  for (const LawJob& job : setting.jobs) {
    std::vector<predict::MeasuredStep> steps;
    for (const char* name : {"7g.80gb", "4g.40gb", "3g.40gb", "2g.20gb"}) {
      const auto profile = setting.gpu.find_profile(name);
      const auto at = predict::place_resources({.gpu = &setting.gpu, .profile = profile},
                                               ActiveThreadPercentage(100));
      SEPTULE_CHECK(at.has_value(), "the profiles exist");
      steps.push_back({.profile = profile,
                       .atp = ActiveThreadPercentage(100),
                       .step = job.law.step(at->resources)});
    }
    const auto fitted = SignatureModel::fit(setting.gpu, steps, {.solo = {}, .kernel_count = 50});
    SEPTULE_CHECK(fitted.has_value(), "the points are valid");
    signatures.push_back(*fitted);
  }
  for (std::size_t i = 0; i < kJobs; ++i) {
    setting.jobs[i] = {.model = &signatures[i]};
  }
  for (auto unused : state) {
    benchmark::DoNotOptimize(setting.model());
  }
}

/// The best seats of every set of 12 jobs that fills a domain, for all domains.
void window_times(benchmark::State& state, optimize::GroupClock clock) {
  const Setting setting;
  const auto model = setting.model();
  optimize::WindowProblem problem;
  problem.jobs = setting.window;
  problem.model = model.get();
  problem.catalogue = &setting.sharing;
  problem.clock = clock;
  std::int64_t sets = 0;
  std::int64_t seatings = 0;
  std::int64_t possible = 0;
  for (auto unused : state) {
    sets = seatings = possible = 0;
    const optimize::GroupTimer timer(problem);
    for (std::size_t domain = 0; domain < setting.sharing.domains.size(); ++domain) {
      const std::size_t seats = setting.sharing.domains[domain].seats.size();
      for (std::uint32_t set = 1; set < (1U << kJobs); ++set) {
        if (static_cast<std::size_t>(std::popcount(set)) != seats) {
          continue;
        }
        std::array<std::size_t, gpu::kSeatsMax> jobs{};
        std::size_t count = 0;
        for (std::size_t job = 0; job < kJobs; ++job) {
          if ((set >> job & 1U) != 0) {
            jobs[count++] = job;
          }
        }
        ++sets;
        seatings += static_cast<std::int64_t>(timer.orders(domain).size());
        possible += timer.best(domain, std::span(jobs).first(count)).has_value() ? 1 : 0;
      }
    }
  }
  state.counters["domains"] = static_cast<double>(setting.sharing.domains.size());
  state.counters["sets"] = static_cast<double>(sets);
  state.counters["seatings"] = static_cast<double>(seatings);
  state.counters["possible"] = static_cast<double>(possible);
}

BENCHMARK_CAPTURE(rates, alone, "7g");
BENCHMARK_CAPTURE(rates, turns_2, "mps{2}");
BENCHMARK_CAPTURE(rates, turns_3, "mps{3}");
BENCHMARK_CAPTURE(rates, turns_4, "mps{4}");
BENCHMARK_CAPTURE(rates, parts_2, "mps(75,25)");
BENCHMARK_CAPTURE(rates, parts_4, "mps(25,25,25,25)");
BENCHMARK_CAPTURE(rates, divided_2, "7g[4c+3c]");
BENCHMARK_CAPTURE(rates, divided_turns_4, "7g[4c{2}+3c{2}]");
BENCHMARK(make_model)->Unit(benchmark::kMicrosecond);
BENCHMARK(make_model_of_signatures)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(window_times, idle, optimize::GroupClock::kIdle)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(window_times, speed_up, optimize::GroupClock::kSpeedUp)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(window_times, steady, optimize::GroupClock::kSteadyState)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace septule
