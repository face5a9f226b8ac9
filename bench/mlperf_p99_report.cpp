// Prints the p99 that the serving simulator gives for MLPerf's published Server runs beside the
// published one (docs/benchmarks.md, "Tails against MLPerf").
//   mlperf_p99_report DIRECTORY [REQUESTS]   root of the reference material; requests per run
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "job/metrics.hpp"
#include "sim/mlperf_cases.hpp"
#include "support/read_file.hpp"

namespace septule::sim::test {
namespace {

struct Errors {
  std::vector<double> p50;
  std::vector<double> p99;
};

double log_ratio(double simulated, double published) {
  return std::abs(std::log(simulated / published));
}

void print_errors(const std::string& title, const Errors& errors) {
  fmt::print(
      "{:<44} p99: median {:.3f} (x{:.2f}), p90 {:.3f} (x{:.2f});  p50: median {:.3f}, p90 "
      "{:.3f}\n",
      title,
      job::quantile(errors.p99, 0.5),
      std::exp(job::quantile(errors.p99, 0.5)),
      job::quantile(errors.p99, 0.9),
      std::exp(job::quantile(errors.p99, 0.9)),
      job::quantile(errors.p50, 0.5),
      job::quantile(errors.p50, 0.9));
}

void print_rows(const std::vector<MlperfCase>& cases, double requests) {
  fmt::print("{:<5}{:<59}{:<14}{:>4}{:>6}{:>6}{:>9}{:>9}{:>9}{:>9}{:>7}\n",
             "",
             "system",
             "benchmark",
             "n",
             "load",
             "batch",
             "p50 sim",
             "publ.",
             "p99 sim",
             "publ.",
             "ratio");
  for (const MlperfCase& row : cases) {
    if (!row.excluded.empty()) {
      fmt::print(
          "{:<5}{:<59}{:<14} left out: {}\n", row.round, row.system, row.benchmark, row.excluded);
      continue;
    }
    const MlperfFigures figures = simulate_mlperf(row, {}, requests);
    fmt::print("{:<5}{:<59}{:<14}{:>4}{:>6.2f}{:>6}{:>9.2f}{:>9.2f}{:>9.2f}{:>9.2f}{:>7.2f}\n",
               row.round,
               row.system,
               row.benchmark,
               row.instances,
               row.server_rps / row.offline_rps,
               figures.batch,
               figures.p50_ms,
               row.p50_ms,
               figures.p99_ms,
               row.p99_ms,
               figures.p99_ms / row.p99_ms);
  }
}

Errors errors_of(const std::vector<MlperfCase>& cases, const MlperfModel& model, double requests) {
  Errors errors;
  for (const MlperfCase& row : cases) {
    if (row.excluded.empty()) {
      const MlperfFigures figures = simulate_mlperf(row, model, requests);
      errors.p50.push_back(log_ratio(figures.p50_ms, row.p50_ms));
      errors.p99.push_back(log_ratio(figures.p99_ms, row.p99_ms));
    }
  }
  return errors;
}

void print_all(const std::filesystem::path& file, double requests) {
  const auto cases = read_mlperf_cases(septule::test::read_file(file));
  print_rows(cases, requests);
  fmt::print("\n|log(simulated / published)|\n");
  print_errors("this table: 1 stream, margin 0.45", errors_of(cases, {}, requests));
  for (const int streams : {1, 2}) {
    for (const double margin : {0.3, 0.45, 0.6, 0.9}) {
      for (const auto dispatch :
           {serve::DispatchRule::kProportional, serve::DispatchRule::kSlack}) {
        const MlperfModel model{.streams = streams, .margin = margin, .dispatch = dispatch};
        print_errors(
            fmt::format("{} stream(s), margin {}, {}",
                        streams,
                        margin,
                        dispatch == serve::DispatchRule::kSlack ? "by slack" : "in proportion"),
            errors_of(cases, model, requests));
      }
    }
  }
  print_errors("time in proportion to the fill",
               errors_of(cases, {.fill = MlperfFill::kProportional}, requests));
  Errors guess;
  for (const MlperfCase& row : cases) {
    if (row.excluded.empty()) {
      guess.p99.push_back(log_ratio(row.bound_ms, row.p99_ms));
      guess.p50.push_back(log_ratio(row.bound_ms / 2, row.p50_ms));
    }
  }
  print_errors("no model: p99 = the bound, p50 = half of it", guess);
}

}  // namespace
}  // namespace septule::sim::test

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto file = std::filesystem::path(arguments.empty() ? "" : arguments[0]) /
                    "data/serving/mlperf_inference_mig.csv";
  const double requests =
      arguments.size() > 1 ? septule::parse_number(arguments[1]).value_or(0) : 200000;
  if (!std::filesystem::exists(file) || requests < 1) {
    fmt::print(stderr,
               "mlperf_p99_report DIRECTORY [REQUESTS]: root of the reference material, requests "
               "per run\n");
    return 1;
  }
  septule::sim::test::print_all(file, requests);
  return 0;
}
