// Prints FAR's figures and ours for moldable tasks (docs/benchmarks.md, "Moldable tasks"): Rodinia,
// the authors' reference runs, and every mix against the layout bound.
//   far_report DIRECTORY [DRAWS]   root of the reference material; draws of each row (60)
#include <array>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "optimize/far_references.hpp"
#include "optimize/moldable_cases.hpp"

namespace septule::optimize::test {
namespace {

using septule::test::MoldableBench;

/// Processor time, so that a busy machine does not count.
double milliseconds_of(const auto& run) {
  const std::clock_t begin = std::clock();
  run();
  return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

/// Static partitions as the authors count them: nothing for creating them.
double free_static(const MoldableBench& free, MoldableProblem problem, std::size_t first) {
  problem.gpu = &free.gpu();
  if (first == 0) {
    return best_static_schedule(problem, StaticOrder::kFirstComeFirstServed)->makespan.to_seconds();
  }
  const std::vector<std::size_t> whole = {0};
  const auto leaves = free.gpu().leaves();
  return static_schedule(problem,
                         first == 1 ? std::span<const std::size_t>(whole) : leaves,
                         StaticOrder::kFirstComeFirstServed)
      ->makespan.to_seconds();
}

void print_rodinia(const std::filesystem::path& file) {
  fmt::print("Rodinia (16 programs): seconds, and FAR over the area bound\n");
  fmt::print("{:<18} {:>7} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8} {:>7} {:>7} {:>7}\n",
             "",
             "FAR",
             "area",
             "ratio",
             "bound",
             "ours",
             "ours/bd",
             "static",
             "FIFO*",
             "7g*",
             "1g*");
  const auto print = [&](const char* key, const char* board, const std::string& column) {
    const MoldableBench bench(key);
    const MoldableBench free(key, MoldableBench::Costs::kFree);
    const MoldableProblem problem = rodinia_tasks(bench.gpu(), file, board, column);
    WorkBudget budget(kMoldableUnits);
    const auto answer = search_moldable(problem, budget);
    const auto bounds = moldable_bounds(problem);
    fmt::print(
        "{:<18} {:>7.2f} {:>7.2f} {:>7.3f} {:>7.2f} {:>7.2f} {:>8.3f} {:>8.2f} {:>7.2f} "
        "{:>7.2f} {:>7.2f}\n",
        fmt::format("{} {}", board, column == "mean_s_descaled" ? "descaled" : "published"),
        answer->far.to_seconds(),
        bounds->area.to_seconds(),
        answer->far.to_seconds() / bounds->area.to_seconds(),
        bounds->best().to_seconds(),
        answer->schedule.makespan.to_seconds(),
        answer->schedule.makespan.to_seconds() / bounds->best().to_seconds(),
        answer->best_static.value_or(Duration()).to_seconds(),
        free_static(free, problem, 0),
        free_static(free, problem, 1),
        free_static(free, problem, 2));
  };
  print("A100-40GB", "A100", "mean_s_as_published");
  print("A100-40GB", "A100", "mean_s_descaled");
  print("A30-24GB", "A30", "mean_s_as_published");
  fmt::print("* without creation costs, as the authors count them\n\n");
}

void print_references(const MoldableGpu& gpu, const std::vector<FarRow>& rows, int draws) {
  fmt::print("FAR over the area bound, {} draws, and the authors' means of 60\n", draws);
  int within = 0;
  for (const FarRow& row : rows) {
    const FarFigures figures = far_figures(gpu, row, draws);
    const double error = std::sqrt(figures.far_over_area.error() * figures.far_over_area.error() *
                                   (1 + draws / 60.0));
    const double apart = (figures.far_over_area.mean() - *row.ratio) / error;
    within += std::abs(apart) <= 3 ? 1 : 0;
    fmt::print("{:>4} {:<8} {:<7} {:.3f} +- {:.3f}  reference {:.3f}  {:+.1f} errors\n",
               row.tasks,
               moldable_mix_name(row.mix),
               row.is_wide ? "1-100" : "90-100",
               figures.far_over_area.mean(),
               figures.far_over_area.error(),
               *row.ratio,
               apart);
  }
  fmt::print("{} of {} within three standard errors\n\n", within, rows.size());
}

/// The figures of both ranges of a mix, and what the methods take.
void print_mix(const MoldableGpu& gpu, std::size_t tasks, MoldableMix mix, int draws) {
  double far = 0;
  double fixed = 0;
  double ours = 0;
  int worse = 0;
  std::string parts;
  Mean far_ms;
  Mean ours_ms;
  for (const bool is_wide : {true, false}) {
    const FarRow row{tasks, mix, is_wide, {}};
    const FarFigures figures = far_figures(gpu, row, draws);
    far += figures.far.mean() / 2;
    fixed += figures.fixed.mean() / 2;
    ours += figures.search.mean() / 2;
    worse += figures.worse;
    parts += fmt::format("  {}: {:.3f} {:.3f} {:.3f}+-{:.3f} ({:+.1f} %)",
                         is_wide ? "1-100" : "90-100",
                         figures.far.mean(),
                         figures.fixed.mean(),
                         figures.search.mean(),
                         figures.search.error(),
                         100 * (figures.search.mean() / figures.far.mean() - 1));
    for_each_draw(gpu, row, draws, [&](const MoldableProblem& problem) {
      WorkBudget one(kMoldableUnits);
      WorkBudget two(kMoldableUnits);
      far_ms.add(milliseconds_of([&] { (void)far_schedule(problem, one); }));
      ours_ms.add(milliseconds_of([&] { (void)search_moldable(problem, two); }));
    });
  }
  const bool is_asked = tasks >= 20 && far > 1.06;
  const bool is_met = ours <= 0.97 * far;
  fmt::print("{:>4} {:<8} {:.3f} {:.3f} {:.3f} {:+.1f} % {:<4}{}  {:.2f} / {:.2f} ms, worse {}\n",
             tasks,
             moldable_mix_name(mix),
             far,
             fixed,
             ours,
             100 * (ours / far - 1),
             !is_asked ? "" : (is_met ? "met" : "NOT"),
             parts,
             far_ms.mean(),
             ours_ms.mean(),
             worse);
}

int report(const std::filesystem::path& root, int draws) {
  const std::filesystem::path data = root / "data/hierarchical";
  const MoldableBench a100("A100-40GB");
  print_rodinia(data / "far_rodinia_mig_times.csv");
  print_references(a100.gpu(), far_rows(data / "far_reference_runs_synthetic_a100.csv"), draws);
  fmt::print(
      "Over the layout bound: FAR, best static, ours, ours against FAR (asked: -3 % where FAR is "
      "above 1.06, n >= 20); the same by range of times; mean processor times of FAR and ours\n");
  for (const std::size_t tasks : std::to_array<std::size_t>({10, 20, 30, 50, 100})) {
    for (int mix = 0; mix < kMoldableMixCount; ++mix) {
      print_mix(a100.gpu(), tasks, static_cast<MoldableMix>(mix), draws);
    }
  }
  return 0;
}

}  // namespace
}  // namespace septule::optimize::test

int main(int count, char** arguments) {
  const std::optional<std::int64_t> draws =
      count == 3 ? septule::parse_integer(arguments[2]) : std::optional<std::int64_t>(60);
  if ((count != 2 && count != 3) || !draws.has_value() || *draws < 2 || *draws > 1000) {
    fmt::print(stderr,
               "usage: far_report DIRECTORY [DRAWS] (the reference material's root; 2 to "
               "1000 draws)\n");
    return 2;
  }
  const std::filesystem::path root = arguments[1];
  std::error_code ignored;
  if (!std::filesystem::exists(root / "data/hierarchical", ignored)) {
    fmt::print(stderr,
               "there is no data/hierarchical in {}; name the reference material's root\n",
               arguments[1]);
    return 3;
  }
  return septule::optimize::test::report(root, static_cast<int>(*draws));
}
