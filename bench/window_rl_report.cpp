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
#include "job/csv_rows.hpp"
#include "job/metrics.hpp"
#include "learn/window_agent.hpp"
#include "optimize/window_methods.hpp"
#include "predict/job_traits.hpp"
#include "predict/measured_co_run.hpp"
#include "predict/measured_jobs.hpp"
#include "predict/measured_pairs.hpp"

namespace septule {
namespace {

constexpr int kSeeds = 8;
constexpr int kWindows = 60;
constexpr std::size_t kJobs = 12;
constexpr std::int64_t kUnits = std::int64_t{1} << 40U;

/// Everything measured, by index of job.
struct Measurements {
  std::vector<predict::test::MeasuredJob> jobs;
  std::vector<predict::MeasuredSpeed> speeds;
  std::vector<predict::MeasuredPair> pairs;
  std::vector<predict::JobTraits> traits;
};

/// The whole GPU and the instances up to 4g: the pairs on 7g have a caveat of their own.
std::optional<ProfileIndex> profile_of(const gpu::Geometry& geometry, const std::string& slice) {
  return slice == "full" ? std::nullopt
                         : geometry.plain_profile(ComputeSlices(slice.front() - '0'));
}

Measurements read(const std::filesystem::path& root, const gpu::Geometry& geometry) {
  Measurements out;
  out.jobs = predict::test::inference_jobs(root);
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < out.jobs.size(); ++i) {
    const predict::test::MeasuredJob& job = out.jobs[i];
    index[job.name] = i;
    const double whole = job.points.at("full").step;
    for (const auto& [slice, point] : job.points) {
      if (slice != "full") {
        const auto profile = profile_of(geometry, slice);
        SEPTULE_CHECK(profile.has_value(), "an A100 has the profile");
        out.speeds.push_back({.job = i, .profile = *profile, .speed = whole / point.step});
      }
    }
    const predict::SoloLaw law = predict::fit_law(job.all(), predict::LawForm::kWhole);
    predict::LawJob of{.law = law};
    of.kernel = Duration::nanoseconds(
        static_cast<std::int64_t>(whole * 1e6 / predict::test::kernels_of(job.model)));
    predict::JobTraits traits =
        predict::traits_of(geometry, of, Duration::nanoseconds(100'000'000'000));
    out.traits.push_back(traits);
  }
  for (const auto& row :
       test::csv_rows(root / "data/hierarchical/sustech_a100_80gb_pairs_mig_mps.csv")) {
    const std::string& partition = row.at("partition");
    if (row.at("mean1_ms").empty() || partition.starts_with("7g")) {
      continue;
    }
    const std::size_t first = index.at(row.at("model1") + ":" + row.at("batch1"));
    const std::size_t second = index.at(row.at("model2") + ":" + row.at("batch2"));
    if (first == second) {
      continue;
    }
    out.pairs.push_back(
        {.first = first,
         .second = second,
         .profile = profile_of(geometry, partition == "full" ? partition : partition.substr(0, 2)),
         .slowdown = {test::number_of(row, "slowdown1_vs_solo_same_partition"),
                      test::number_of(row, "slowdown2")}});
  }
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
  const auto model = predict::MeasuredCoRunModel::make(all.jobs.size(), all.speeds, all.pairs);
  SEPTULE_CHECK(model.has_value(), "measured figures are valid");
  constexpr std::array<const char*, 5> kMethods = {"exact", "rl", "beam", "greedy", "time-sharing"};
  std::array<Figures, kMethods.size()> figures;
  for (int seed = 0; seed < kSeeds; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    for (int window = 0; window < kWindows; ++window) {
      std::vector<std::size_t> order(all.jobs.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
      }
      rng.shuffle(std::span(order));
      order.resize(kJobs);
      // The window's own part of the measurements, numbered anew.
      std::vector<std::size_t> number(all.jobs.size(), kJobs);
      std::vector<plan::WindowJob> jobs;
      std::vector<predict::JobTraits> traits;
      for (std::size_t i = 0; i < order.size(); ++i) {
        number[order[i]] = i;
        jobs.push_back({.name = all.jobs[order[i]].name,
                        .user = "one",
                        .trust = {},
                        .memory = Bytes::mebibytes(1),  // pairs that did not fit have no figures
                        .solo = all.traits[order[i]].solo});
        traits.push_back(all.traits[order[i]]);
      }
      std::vector<predict::MeasuredSpeed> speeds;
      for (predict::MeasuredSpeed one : all.speeds) {
        if (number[one.job] < kJobs) {
          one.job = number[one.job];
          speeds.push_back(one);
        }
      }
      std::vector<predict::MeasuredPair> pairs;
      for (predict::MeasuredPair one : all.pairs) {
        if (number[one.first] < kJobs && number[one.second] < kJobs) {
          one.first = number[one.first];
          one.second = number[one.second];
          pairs.push_back(one);
        }
      }
      const auto here = predict::MeasuredCoRunModel::make(kJobs, speeds, pairs);
      SEPTULE_CHECK(here.has_value(), "a part of valid figures is valid");
      optimize::WindowProblem problem{
          .jobs = jobs, .model = here->get(), .catalogue = &templates, .traits = traits};
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
  fmt::print("{} jobs, {} pairs\n", all.jobs.size(), all.pairs.size());
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
