// Prints how near the rolling horizon with real forecasters comes to the same policy that knows the
// rates to come, and to reactive greedy (docs/benchmarks.md). Usage:
//   horizon_report DIR TRACE LOAD HOURS TENANTS [RETRAIN] [gpus=N] [name=value ...]
// DIR holds the reference material's serving data; TRACE is twitter, code or conv; LOAD is the mean
// load in GPUs' worth of the best throughput; RETRAIN is 0 or 1.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "interop/rate_trace.hpp"
#include "interop/serving_profile.hpp"
#include "job/serving_record.hpp"
#include "serve/admission.hpp"
#include "serve/policy_registry.hpp"
#include "serve/rolling_horizon.hpp"
#include "serve/warm_up.hpp"
#include "sim/serving_sim.hpp"

namespace septule {
namespace {

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    fmt::print(stderr, "horizon_report: cannot read {}\n", path);
    std::exit(4);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "horizon_report: {}\n", result.error().message);
    std::exit(3);
  }
  return std::move(result).value();
}

struct Model {
  std::string name;
  int slo_ms;
  double accuracy;
  double accuracy_after;
  int warm_up_s;
};
// SLOs of ParvaGPU's set 5; accuracies and warm-ups are plausible figures of our own.
const Model kModels[] = {{"resnet50", 108, 0.70, 0.78, 4},
                         {"bert", 3217, 0.72, 0.80, 6},
                         {"densenet121", 92, 0.68, 0.76, 4},
                         {"mobilenetv2", 84, 0.66, 0.72, 3}};

struct Input {
  std::string dir;
  std::string trace;
  double load = 0.8;
  std::size_t seconds = 86400;
  std::size_t tenants = 3;
  bool retrains = false;
  int gpus = 1;
  std::vector<std::string> options;
};

std::vector<serve::AdmittedTenant> make_tenants(const Input& input,
                                                const serve::LayoutLattice& lattice) {
  const std::string path = input.dir + "/parvagpu_a100_80g_mig_mps.csv";
  const std::string text = read_text(path);
  const auto profiles = must(interop::parse_serving_profiles({text, path}));
  const std::string file =
      input.dir + (input.trace == "twitter"
                       ? "/trace_twitter_1day_1s.csv"
                       : fmt::format("/trace_azure_llm_2023_{}_1s.csv", input.trace));
  const std::string trace_text = read_text(file);
  const auto trace = must(interop::parse_rate_trace({trace_text, file}));
  std::vector<serve::Tenant> tenants;
  const serve::RateSeries whole =
      must(interop::rate_series(trace, {.gaps = interop::GapHandling::kHold}));
  const auto length = whole.values.size();
  const std::size_t wanted = std::min(length, input.seconds);
  for (std::size_t m = 0; m < input.tenants; ++m) {
    const Model& model = kModels[m % std::size(kModels)];
    serve::Tenant tenant;
    tenant.name = fmt::format("{}-{}", model.name, m);
    tenant.profile = *must(interop::find_profile(profiles, model.name, ""));
    tenant.slo = Duration::milliseconds(model.slo_ms);
    tenant.accuracy = model.accuracy;
    const Duration warm = Duration::milliseconds(1000 * model.warm_up_s);
    tenant.warm_up = {.p50 = warm, .p90 = warm, .p99 = warm};
    if (input.retrains) {
      serve::RetrainingJob job;
      job.work_s = 30;
      job.accuracy_after = model.accuracy_after;
      job.period = Duration::milliseconds(200000);
      tenant.retraining = job;
    }
    // Each tenant another hour of the trace, turned round.
    double sum = 0;
    for (std::size_t s = 0; s < wanted; ++s) {
      tenant.rate.values.push_back(whole.values[(s + m * length / input.tenants) % length]);
      sum += tenant.rate.values.back();
    }
    serve::Tenant one = tenant;
    const auto admitted = must(serve::admit_all(std::span(&one, 1), lattice, {}));
    double best = 0;
    for (std::size_t s = 0; s < lattice.sizes().size(); ++s) {
      best = std::max(
          best,
          admitted[0].throughput_rps(static_cast<int>(s)) / lattice.sizes()[s].slices.value());
    }
    const double share = 7 * input.gpus * best * input.load / static_cast<double>(input.tenants);
    for (double& value : tenant.rate.values) {
      value *= share / (sum / static_cast<double>(wanted));
    }
    tenants.push_back(tenant);
  }
  return must(serve::admit_all(tenants, lattice, {}));
}

struct Run {
  std::string policy;
  std::string forecaster;
};

double run_one(const Run& run,
               const Input& input,
               const serve::LayoutLattice& lattice,
               const std::vector<serve::AdmittedTenant>& tenants) {
  std::vector<serve::RateSeries> rates;
  std::vector<serve::AdmittedTenant> believed = tenants;
  for (serve::AdmittedTenant& admitted : believed) {
    rates.push_back(admitted.tenant.rate);
    admitted.tenant.rate.values.resize(1);  // policies see the first value only
  }
  const auto span =
      Duration::milliseconds(1000 * static_cast<std::int64_t>(rates[0].values.size()));
  serve::ServingSetup setup{.lattice = &lattice,
                            .tenants = believed,
                            .gpu_count = input.gpus,
                            .forecaster = run.forecaster,
                            .true_rates = rates,
                            .span = span};
  if (run.policy.starts_with("septule")) {
    for (const std::string& option : input.options) {
      const std::size_t at = option.find('=');
      setup.options.set(option.substr(0, at), option.substr(at + 1));
    }
  }
  const auto policy = must(serve::make_serving_policy(run.policy, setup));
  sim::ServingSimSetup sim{
      .lattice = &lattice, .tenants = believed, .rates = rates, .gpu_count = input.gpus};
  sim.options.length = span;
  const auto begin = std::chrono::steady_clock::now();
  const job::ServingRecord record = must(sim::simulate_serving(sim, *policy));
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  int done = 0;
  for (const auto& tenant : record.tenants) {
    done += tenant.retrainings_done;
  }
  fmt::print(
      "{:<16} {:<11} goodput {:>12.0f} attainment {:.4f} moves {:>6} retrained {:>4} {:>7.1f} s\n",
      run.policy,
      run.forecaster,
      record.weighted_goodput,
      job::attainment(record).value_or(0),
      record.moves,
      done,
      wall.count());
  if (const auto* horizon = dynamic_cast<const serve::RollingHorizon*>(policy.get())) {
    const serve::HorizonLog& log = horizon->log();
    fmt::print(
        "    planned/realised {:.4f} plans {} good {} same {} last {} greedy {} caps {} "
        "gap mean {:.5f} max {:.5f} triggers {} {} {} {} {}\n",
        horizon->planned_goodput().value_or(0) / record.weighted_goodput,
        log.plans,
        log.skipped_good,
        log.skipped_same,
        log.fallbacks_last,
        log.fallbacks_greedy,
        log.caps_held,
        log.plans > 0 ? log.gap_sum / static_cast<double>(log.plans) : 0,
        log.gap_max,
        log.triggered[0],
        log.triggered[1],
        log.triggered[2],
        log.triggered[3],
        log.triggered[4]);
  }
  for (const std::string& violation : record.violations) {
    fmt::print("    {}\n", violation);
  }
  std::fflush(stdout);
  return record.weighted_goodput;
}

int run(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr,
               "usage: horizon_report DIR TRACE LOAD HOURS TENANTS [RETRAIN] [name=value]\n");
    return 2;
  }
  Input input{.dir = argv[1], .trace = argv[2]};
  input.load = parse_number(argv[3]).value_or(0.8);
  input.seconds = static_cast<std::size_t>(3600 * parse_number(argv[4]).value_or(24));
  input.tenants = static_cast<std::size_t>(parse_number(argv[5]).value_or(3));
  input.retrains = argc > 6 && std::string_view(argv[6]) == "1";
  for (int i = 7; i < argc; ++i) {
    if (std::string_view(argv[i]).starts_with("gpus=")) {
      input.gpus = static_cast<int>(parse_number(argv[i] + 5).value_or(1));
      continue;
    }
    input.options.emplace_back(argv[i]);
  }
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const gpu::Geometry* geometry = must(catalogue.find("A100-80GB"));
  const auto lattice = must(serve::LayoutLattice::make(*geometry, gpu::ProfileSet::kPlain));
  const auto tenants = make_tenants(input, lattice);
  fmt::print("trace {} load {} seconds {} tenants {} retraining {}\n",
             input.trace,
             input.load,
             input.seconds,
             input.tenants,
             input.retrains);
  const double oracle = run_one({"septule-oracle", "oracle"}, input, lattice, tenants);
  for (const Run& one : {Run{"septule", "ewma-trend"},
                         Run{"septule", "smoothing"},
                         Run{"septule", "seasonal"},
                         Run{"reactive-greedy", "-"}}) {
    fmt::print("    {:.2f} % of the oracle\n",
               100 * run_one(one, input, lattice, tenants) / oracle);
  }
  return 0;
}

}  // namespace
}  // namespace septule

int main(int argc, char** argv) {
  return septule::run(argc, argv);
}
