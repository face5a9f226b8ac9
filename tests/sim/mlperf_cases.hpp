#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/text.hpp"
#include "serve/service_times.hpp"
#include "sim/serving_support.hpp"

namespace septule::sim::test {

/// A published MLPerf Server run (data/serving/mlperf_inference_mig.csv of the reference material):
/// `server_rps` is the offered Poisson load at which p99 stayed within the benchmark's bound.
struct MlperfCase {
  std::string round;
  std::string system;
  std::string benchmark;
  int instances = 1;  ///< MIG instances of 1g, or whole GPUs
  bool is_mig = false;
  double server_rps = 0;
  double offline_rps = 0;  ///< of the same submission; 0 = it has none
  double p50_ms = 0;
  double p99_ms = 0;
  double bound_ms = 0;   ///< of the benchmark's Server scenario
  std::string excluded;  ///< why it is not compared; empty = it is
};

/// How service times are derived from Offline throughput. One instance does `offline / instances`;
/// a batch takes the same time however few requests are in it (the engine runs at a fixed size):
/// streams x batch / that throughput, where `streams` equal processes take turns (NVIDIA's harness
/// runs two per device by default). The batch is not published: it is what our admission would
/// take, the largest power of two whose time is at most `margin` of the benchmark's bound.
enum class MlperfFill {
  kFixed,         ///< a batch takes the same time however full it is
  kProportional,  ///< n requests take n / throughput: nothing is gained by batches
};
struct MlperfModel {
  MlperfFill fill = MlperfFill::kFixed;
  int streams = 1;
  double margin = 0.45;
  serve::DispatchRule dispatch = serve::DispatchRule::kProportional;
};

struct MlperfFigures {
  int batch = 1;
  double p50_ms = 0;
  double p99_ms = 0;
};

/// Latency bounds of the Server scenario, rounds v1.0 and v1.1 (general knowledge).
inline double mlperf_bound_ms(std::string_view benchmark) {
  constexpr std::array<std::pair<std::string_view, double>, 5> kBounds = {
      {{"resnet50", 15}, {"ssd-resnet34", 100}, {"bert", 130}, {"rnnt", 1000}, {"dlrm", 30}}};
  for (const auto& [name, bound] : kBounds) {
    if (benchmark.starts_with(name)) {
      return bound;
    }
  }
  return 0;
}

/// The number behind `mark` ("MIG_" of "MIG_56x1g").
inline std::optional<int> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  int number = 0;
  for (const char c : text.substr(at + mark.size())) {
    if (c < '0' || c > '9') {
      break;
    }
    number = number * 10 + (c - '0');
  }
  return number;
}

inline std::string mlperf_exclusion(const MlperfCase& row) {
  if (row.system.find("HeteroMultiUse") != std::string::npos && row.benchmark.starts_with("bert")) {
    return "broken row (mean far above p99)";
  }
  if (row.offline_rps <= row.server_rps) {
    return "offered load at or above the Offline throughput published with it";
  }
  return {};
}

/// Server rows with the Offline rows of the same round, submitter, system and benchmark.
inline std::vector<MlperfCase> read_mlperf_cases(std::string_view csv) {
  std::vector<MlperfCase> cases;
  std::map<std::string, double> offline;
  std::vector<std::string> keys;
  for (const std::string_view line : split_lines(csv)) {
    const auto cells = split_outside_brackets(line, ',');
    if (cells.size() < 10) {
      continue;
    }
    std::string key;
    for (std::size_t i = 0; i < 4; ++i) {
      key += std::string(cells[i]) + ",";
    }
    if (cells[4] == "Offline") {
      offline[key] = parse_number(cells[5]).value_or(0);
    } else if (cells[4] == "Server") {
      MlperfCase row{.round = std::string(cells[0]),
                     .system = std::string(cells[2]),
                     .benchmark = std::string(cells[3])};
      row.is_mig = row.system.find("MIG_") != std::string::npos;
      row.instances = number_after(row.system, row.is_mig ? "MIG_" : "GBx").value_or(1);
      row.server_rps = parse_number(cells[5]).value_or(0);
      row.p50_ms = parse_number(cells[7]).value_or(0);
      row.p99_ms = parse_number(cells[9]).value_or(0);
      row.bound_ms = mlperf_bound_ms(row.benchmark);
      cases.push_back(row);
      keys.push_back(key);
    }
  }
  for (std::size_t i = 0; i < cases.size(); ++i) {
    cases[i].offline_rps = offline[keys[i]];
    cases[i].excluded = mlperf_exclusion(cases[i]);
  }
  return cases;
}

/// Runs the simulator in request mode on the case's instances at its load, about `requests` long.
inline MlperfFigures simulate_mlperf(const MlperfCase& row,
                                     const MlperfModel& model,
                                     double requests) {
  const bool is_a30 = row.system.starts_with("A30");
  ServingBench bench{.lattice = is_a30 ? serve::test::a30() : serve::test::a100()};
  const int slices = row.is_mig ? 1 : bench.lattice.geometry().compute_slices().value();
  const double own_rps = row.offline_rps / row.instances;
  MlperfFigures figures;
  const auto time_ms = [&](int batch) { return 1e3 * model.streams * batch / own_rps; };
  while (figures.batch * 2 <= serve::ServiceTimes::kBatchMax &&
         time_ms(figures.batch * 2) <= model.margin * row.bound_ms) {
    figures.batch *= 2;
  }
  serve::AdmittedTenant tenant;
  tenant.tenant.name = row.benchmark;
  tenant.tenant.slo = seconds_to_duration(row.bound_ms / 1e3);
  for (int batch = model.fill == MlperfFill::kFixed ? figures.batch : 1; batch <= figures.batch;
       batch *= 2) {
    tenant.tenant.profile.rows.push_back({.slices = ComputeSlices(slices),
                                          .batch = batch,
                                          .processes = model.streams,
                                          .throughput_rps = own_rps,
                                          .latency = seconds_to_duration(time_ms(batch) / 1e3)});
  }
  bench.tenants.push_back(tenant);
  bench.rates.push_back(constant_rate(row.server_rps));
  const int per_gpu = row.is_mig ? (is_a30 ? 4 : 7) : 1;
  bench.gpu_count = (row.instances + per_gpu - 1) / per_gpu;
  serve::Deployment all;
  for (int i = 0; i < row.instances; ++i) {
    if (i % per_gpu == 0) {
      all.gpus.emplace_back();
    }
    serve::Occupant occupant = serves(0);
    occupant.batch = figures.batch;
    occupant.processes = model.streams;
    all.gpus.back().instances.push_back(
        row.is_mig ? instance_at(bench.lattice, 1, i % per_gpu, {occupant})
                   : serve::ServingInstance{.placed = std::nullopt, .occupants = {occupant}});
  }
  bench.options.initial = all;
  bench.options.mode = ServingMode::kRequest;
  bench.options.late = LateAnswers::kAnswered;
  bench.options.length =
      whole_seconds(std::max<std::int64_t>(10, std::llround(requests / row.server_rps)));
  bench.policy.rule = model.dispatch;
  const auto run = bench.run(bench.policy);
  SEPTULE_CHECK(run.has_value(), "the cases are valid");
  SEPTULE_CHECK(run->violations.empty(), "the layouts of the cases are legal");
  figures.p50_ms = run->tenants[0].p50_ms.value_or(0);
  figures.p99_ms = run->tenants[0].p99_ms.value_or(0);
  return figures;
}

}  // namespace septule::sim::test
