// How the learned window agent does on measured pairs (docs/benchmarks.md, docs/window-rl.md):
// windows of 12 of the 44 measured inference jobs, drawn without replacement, equal solo times,
// eight seeds of 60 windows each, the same windows for all methods. Argument: the folder of
// reference material. Not a test.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "gpu/sharing_template.hpp"
#include "job/metrics.hpp"
#include "learn/window_agent.hpp"
#include "optimize/measured_windows.hpp"
#include "optimize/window_methods.hpp"
#include "predict/job_traits.hpp"
#include "predict/measured_jobs.hpp"
#include "predict/measured_pairs.hpp"

namespace septule {
namespace {

constexpr int kSeeds = 8;
constexpr int kWindows = 60;
constexpr std::size_t kJobs = 12;
constexpr std::int64_t kUnits = std::int64_t{1} << 40U;

/// Traits by name of job, in the order of names: what was fitted to a job's times alone.
std::map<std::string, predict::JobTraits> fitted_traits(const std::filesystem::path& root,
                                                        const gpu::Geometry& geometry) {
  std::map<std::string, predict::JobTraits> out;
  for (const predict::test::MeasuredJob& job : predict::test::inference_jobs(root)) {
    const predict::SoloLaw law = predict::fit_law(job.all(), predict::LawForm::kWhole);
    predict::LawJob of{.law = law};
    of.kernel = Duration::nanoseconds(static_cast<std::int64_t>(
        job.points.at("full").step * 1e6 / predict::test::kernels_of(job.model)));
    out[job.name] = predict::traits_of(geometry, of, Duration::milliseconds(100000));
  }
  return out;
}

/// Everything measured.
struct Measurements {
  test::MeasuredWindows windows;
  std::map<std::string, predict::JobTraits> traits;
  std::vector<std::size_t> by_name;  ///< jobs of `windows` in the order of names
};

Measurements read(const std::filesystem::path& root, const gpu::Geometry& geometry) {
  Measurements out{.windows = test::measured_windows(geometry, root),
                   .traits = fitted_traits(root, geometry),
                   .by_name = {}};
  for (std::size_t i = 0; i < out.windows.names.size(); ++i) {
    out.by_name.push_back(i);
  }
  std::ranges::sort(out.by_name, {}, [&](std::size_t i) { return out.windows.names[i]; });
  return out;
}

struct Figures {
  std::vector<double> gains;
  std::vector<double> of_exact;
};

void report(const Measurements& all,
            const gpu::SharingCatalogue& templates,
            const optimize::WindowOptimizer& agent,
            optimize::GroupClock clock) {
  constexpr std::array<const char*, 5> kMethods = {"exact", "rl", "beam", "greedy", "time-sharing"};
  std::array<Figures, kMethods.size()> figures;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    for (int window = 0; window < kWindows; ++window) {
      std::vector<std::size_t> order = all.by_name;
      rng.shuffle(std::span(order));
      const test::DrawnWindow drawn = test::window_of(all.windows, std::span(order).first(kJobs));
      std::vector<predict::JobTraits> traits;
      for (const plan::WindowJob& job : drawn.jobs) {
        traits.push_back(all.traits.at(job.name));
      }
      optimize::WindowProblem problem{.jobs = drawn.jobs,
                                      .model = drawn.model.get(),
                                      .catalogue = &templates,
                                      .traits = traits,
                                      .rules = {.mps_users = plan::SharingRules::Users::kAnyUsers}};
      problem.clock = clock;
      double exact = 0;
      for (std::size_t m = 0; m < kMethods.size(); ++m) {
        const auto method = optimize::make_window_method(kMethods[m], {.learned = &agent});
        SEPTULE_CHECK(method.has_value(), "the methods exist");
        WorkBudget budget(kUnits);
        const auto answer = (*method)->optimize(problem, budget);
        SEPTULE_CHECK(answer.has_value(), "each job runs alone");
        const double gain = 100.0 * kJobs / answer->time.to_seconds();
        exact = m == 0 ? gain : exact;
        figures[m].gains.push_back(gain);
        figures[m].of_exact.push_back(gain / exact);
      }
    }
  }
  fmt::print("\nclock {}: {} windows of {} measured jobs\n{:<14} {:>6} {:>6} {:>10} {:>8}\n",
             optimize::group_clock_name(clock),
             kSeeds * kWindows,
             kJobs,
             "method",
             "gain",
             "best",
             "of exact",
             "worst");
  for (std::size_t m = 0; m < kMethods.size(); ++m) {
    fmt::print("{:<14} {:>6.3f} {:>6.3f} {:>8.2f} % {:>6.2f} %\n",
               kMethods[m],
               job::confidence_interval(figures[m].gains).mean,
               std::ranges::max(figures[m].gains),
               100 * job::confidence_interval(figures[m].of_exact).mean,
               100 * std::ranges::min(figures[m].of_exact));
  }
}

int run(const std::filesystem::path& root) {
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const auto geometry = catalogue.find("A100-80GB");
  SEPTULE_CHECK(geometry.has_value(), "the GPU is in the catalogue");
  gpu::SharingOptions options;
  options.percentages.clear();  // none was measured
  const auto templates = gpu::make_sharing_catalogue(**geometry, options);
  SEPTULE_CHECK(templates.has_value(), "an A100 has templates");
  const auto agent = learn::WindowAgent::builtin();
  if (!agent.has_value()) {
    fmt::print(stderr, "{}\n", agent.error().message);
    return 1;
  }
  const Measurements all = read(root, **geometry);
  fmt::print("{} jobs\n", all.windows.names.size());
  report(all, *templates, **agent, optimize::GroupClock::kSpeedUp);
  report(all, *templates, **agent, optimize::GroupClock::kSteadyState);
  return 0;
}

}  // namespace
}  // namespace septule

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: window_rl_report FOLDER (of the reference material)\n");
    return 2;
  }
  return septule::run(argv[1]);
}
