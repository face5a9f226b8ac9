#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve::test {

/// Windows of one A100-80GB for benchmarks and tests: four models of ParvaGPU's SLO set 5 with the
/// throughput of their best operating point by size (latency < 0.45 SLO, suspect rows dropped;
/// ParvaGPU, arXiv 2409.14447, table of MunQ-Lee/ParvaGPU_SC24, MIT), accuracies of ours,
/// retraining speeds of MISO (serving.md 2.1).
struct CaseModel {
  const char* name;
  std::array<double, 5> rate_rps;  ///< 1g, 2g, 3g, 4g, 7g
  double accuracy;
  double accuracy_after;
};
inline constexpr std::array<CaseModel, 4> kCaseModels = {{
    {"resnet50", {358.277, 747.339, 1359.9, 1503.333, 2687.805}, 0.70, 0.80},
    {"bert", {154.972, 299.4, 447.265, 589.716, 764.485}, 0.65, 0.78},
    {"densenet121", {296.478, 618.562, 1115.186, 1258.418, 2206.389}, 0.68, 0.76},
    {"mobilenetv2", {771.152, 1572.694, 2702.637, 3105.21, 5000.6}, 0.66, 0.75},
}};
inline constexpr std::array<double, 5> kMisoSpeeds = {0.36, 0.51, 0.69, 0.75, 1.0};

/// Requests per second with mean about 1, like an hour of a busy web service: slow waves, noise
/// that remembers, now and then a burst that decays. The same for equal seeds everywhere.
inline std::vector<double> made_up_arrivals(std::uint64_t seed, int seconds) {
  Rng rng = Rng(seed).stream("arrivals");
  std::vector<double> rates;
  double level = 0;
  double burst = 0;
  double phase = rng.uniform() * 200;
  for (int t = 0; t < seconds; ++t) {
    level = 0.9 * level + rng.normal(0, 0.08);
    burst = rng.chance(1, 60) ? burst + 0.8 * rng.uniform() : burst * 0.85;
    // A wave of 200 s as two parabolas: no library sine.
    const double at = std::fmod(phase + t, 200.0) / 100.0;
    const double wave = at < 1 ? 4 * at * (1 - at) : -4 * (at - 1) * (2 - at);
    rates.push_back(std::max(0.05, 0.95 + 0.35 * wave + level + burst));
  }
  return rates;
}

/// The Twitter day of the shared reference material from `begin` on, mean over the day 1; made up
/// arrivals without it.
inline std::vector<double> case_arrivals(std::uint64_t seed, int begin, int seconds) {
  const char* const root = std::getenv("SEPTULE_SHARED");  // NOLINT(concurrency-mt-unsafe)
  std::vector<double> rates;
  if (root != nullptr) {
    std::ifstream file(std::filesystem::path(root) / "data/serving/trace_twitter_1day_1s.csv");
    std::string line;
    std::getline(file, line);
    for (int t = 0; t < begin + seconds && std::getline(file, line); ++t) {
      if (t >= begin) {
        rates.push_back(std::strtod(line.c_str() + line.find(',') + 1, nullptr) / 64.0);
      }
    }
  }
  return static_cast<int>(rates.size()) == seconds ? rates : made_up_arrivals(seed, seconds);
}

enum class CaseArrivals { kMadeUp, kTrace };
struct CaseOptions {
  int tenants = 2;
  int steps = 200;
  int step_s = 1;
  double work_s = 0;  ///< of each tenant's retraining on the whole GPU; 0 = none
  CaseArrivals arrivals = CaseArrivals::kMadeUp;
  double load = 1.1;  ///< mean arrivals over what the tenants' equal parts of the GPU serve
};

/// Starts on an empty GPU; warm-up of one step, no creation costs.
inline GoodputProblem make_case(const LayoutLattice& lattice, const CaseOptions& options) {
  GoodputProblem problem;
  problem.lattice = &lattice;
  problem.step = Duration::milliseconds(1000L * options.step_s);
  problem.step_count = options.steps;
  const int seconds = options.steps * options.step_s;
  for (int m = 0; m < options.tenants; ++m) {
    const CaseModel& model = kCaseModels[static_cast<std::size_t>(m) % kCaseModels.size()];
    GoodputTenant tenant;
    tenant.name = model.name;
    tenant.accuracy = model.accuracy;
    tenant.accuracy_after = model.accuracy_after;
    const auto seed = static_cast<std::uint64_t>(m) + 1;
    const std::vector<double> arrivals = options.arrivals == CaseArrivals::kMadeUp
                                             ? made_up_arrivals(seed, seconds)
                                             : case_arrivals(seed, 36'000 + 4'000 * m, seconds);
    double mean = 0;
    for (const double rate : arrivals) {
      mean += rate / seconds;
    }
    const double scale = options.load * model.rate_rps[4] / options.tenants / mean;
    for (int t = 0; t < options.steps; ++t) {
      double sum = 0;
      for (int s = 0; s < options.step_s; ++s) {
        const int second = t * options.step_s + s;
        sum += arrivals[static_cast<std::size_t>(second)];
      }
      tenant.rate_rps.push_back(sum / options.step_s * scale);
    }
    Label serving;
    serving.name = model.name;
    serving.serves = {{m, {}}};
    Label training;
    training.name = std::string(model.name) + " retrains";
    training.retrains = m;
    for (std::size_t s = 0; s < 5; ++s) {
      serving.serves[0].rate_rps[s] = model.rate_rps[s];
      training.speed[s] = kMisoSpeeds[s];
    }
    problem.labels.push_back(serving);
    if (options.work_s > 0) {
      tenant.retraining = RetrainingNeed{options.work_s, 0, options.steps};
      problem.labels.push_back(training);
    }
    problem.tenants.push_back(tenant);
  }
  return problem;
}

}  // namespace septule::serve::test
