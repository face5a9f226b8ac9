// Draws docs/images/event-cost.svg: processor time of one simulated event over the size of the
// cluster, beside a line that grows as the logarithm of it. Writes the drawing to standard output
// and the figures to standard error.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <string_view>

#include <fmt/format.h>

#include "cluster_input.hpp"
#include "report/svg_plot.hpp"

namespace septule {
namespace {

constexpr int kRepetitions = 5;

/// The least of several runs: noise only adds.
double event_ns(std::string_view policy, int gpus) {
  const auto input = bench::input_of(policy, bench::drawn(10 * gpus, gpus), gpus);
  double least = 0;
  for (int i = 0; i < kRepetitions; ++i) {
    const std::clock_t begin = std::clock();
    const Result<job::RunRecord> record = sim::simulate(input->setup);
    const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    SEPTULE_CHECK(record.has_value(), "the benchmark's run ends");
    const double ns = seconds * 1e9 / static_cast<double>(record->events);
    least = i == 0 ? ns : std::min(least, ns);
  }
  fmt::print(stderr, "{} {} GPUs: {:.0f} ns an event\n", policy, gpus, least);
  return least;
}

int draw() {
  report::LinePlot plot;
  plot.title = "Cost of one event over the size of the cluster";
  plot.x = {.label = "GPUs, ten jobs each", .kind = report::AxisKind::kLog};
  plot.y = {.label = "processor time, ns", .min = 0};
  int index = 0;
  double first = 0;
  for (const std::string_view policy : {"nopart", "miso", "septule"}) {
    report::PlotLine line{.name = std::string(policy), .index = index++};
    for (const int gpus : {100, 300, 1000, 3000, 10000}) {
      line.points.push_back({.x = static_cast<double>(gpus), .y = event_ns(policy, gpus)});
    }
    first = policy == "miso" ? line.points.front().y : first;
    plot.lines.push_back(line);
  }
  report::PlotLine logarithm{.name = "growth as log(GPUs)", .index = index};
  for (const double gpus : {100.0, 300.0, 1000.0, 3000.0, 10000.0}) {
    logarithm.points.push_back({.x = gpus, .y = first * std::log(gpus) / std::log(100.0)});
  }
  plot.lines.push_back(logarithm);
  fmt::print("{}", report::svg_line_plot(plot, report::Embedding::kStandalone));
  return 0;
}

}  // namespace
}  // namespace septule

int main() {
  return septule::draw();
}
