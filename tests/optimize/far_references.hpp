#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/rng.hpp"
#include "job/csv_rows.hpp"
#include "optimize/moldable_bound.hpp"
#include "optimize/moldable_far.hpp"
#include "optimize/moldable_generator.hpp"
#include "optimize/moldable_search.hpp"
#include "optimize/moldable_static.hpp"

// FAR's published task times and reference runs, and our methods on them. For tests and for
// bench/far_report.cpp.
namespace septule::optimize::test {

/// Rodinia's programs on one board ("A100" or "A30") as tasks; `column`: "mean_s_as_published" or
/// "mean_s_descaled".
inline MoldableProblem rodinia_tasks(const MoldableGpu& gpu,
                                     const std::filesystem::path& file,
                                     std::string_view board,
                                     const std::string& column) {
  std::map<std::string, std::map<int, double>> seconds;
  std::vector<std::string> names;  // in the file's order, which first-come-first-served follows
  for (const auto& row : septule::test::csv_rows(file)) {
    if (row.at("gpu") == board) {
      if (!seconds.contains(row.at("benchmark"))) {
        names.push_back(row.at("benchmark"));
      }
      seconds[row.at("benchmark")][static_cast<int>(septule::test::number_of(row, "slices_g"))] =
          septule::test::number_of(row, column);
    }
  }
  MoldableProblem problem{&gpu, {}};
  for (const std::string& name : names) {
    const std::map<int, double>& by_slices = seconds.at(name);
    MoldableTask& task = problem.tasks.emplace_back();
    for (const MoldableSize& size : gpu.sizes()) {
      task.times.emplace_back(seconds_to_duration(by_slices.at(size.slices.value())));
    }
  }
  return problem;
}

/// A row of the authors' runs on drawn tasks.
struct FarRow {
  std::size_t tasks = 0;
  MoldableMix mix = MoldableMix::kUniform;
  bool is_wide = false;  ///< 1 to 100 s on one slice; else 90 to 100 s
  /// FAR over the area bound; nothing for rows of our own.
  std::optional<double> ratio;

  Duration shortest() const { return Duration::milliseconds(is_wide ? 1000 : 90000); }
};

inline std::vector<FarRow> far_rows(const std::filesystem::path& file) {
  std::vector<FarRow> rows;
  for (const auto& row : septule::test::csv_rows(file)) {
    const std::string mix = row.at("mix");
    FarRow& made = rows.emplace_back();
    made.tasks = static_cast<std::size_t>(septule::test::number_of(row, "n_tasks"));
    made.mix = mix.starts_with("good")  ? MoldableMix::kGood
               : mix.starts_with("bad") ? MoldableMix::kBad
                                        : MoldableMix::kUniform;
    made.is_wide = row.at("times_range_s_1g") == "1-100";
    made.ratio = septule::test::number_of(row, "FAR_over_area_lower_bound_mean");
  }
  return rows;
}

/// Mean and standard error of what is added.
class Mean {
 public:
  void add(double value) {
    ++count_;
    sum_ += value;
    squares_ += value * value;
    most_ = std::max(most_, value);
  }
  double mean() const { return sum_ / count_; }
  double most() const { return most_; }
  double error() const {
    const double variance = (squares_ - sum_ * sum_ / count_) / (count_ - 1);
    return std::sqrt(std::max(0.0, variance) / count_);
  }

 private:
  int count_ = 0;
  double sum_ = 0;
  double squares_ = 0;
  double most_ = 0;
};

/// Our methods on drawn tasks, means over draws.
struct FarFigures {
  Mean far_over_area;
  Mean far;       ///< over the best bound, as the following
  Mean fixed;     ///< best static partition
  Mean search;    ///< ours
  int worse = 0;  ///< draws in which ours is worse than FAR or static: never
};

/// `visit(problem)` for each of `draws` problems of a row, the same in tests and reports.
template <class Visit>
void for_each_draw(const MoldableGpu& gpu, const FarRow& row, int draws, const Visit& visit) {
  for (int draw = 0; draw < draws; ++draw) {
    Rng rng = Rng(2026).stream(
        moldable_mix_name(row.mix),
        (row.tasks * 2 + (row.is_wide ? 1 : 0)) * 1000 + static_cast<std::uint64_t>(draw));
    visit(draw_moldable_tasks(
        gpu, {row.tasks, row.mix, row.shortest(), Duration::milliseconds(100000)}, rng));
  }
}

inline FarFigures far_figures(const MoldableGpu& gpu, const FarRow& row, int draws) {
  FarFigures figures;
  for_each_draw(gpu, row, draws, [&](const MoldableProblem& problem) {
    WorkBudget budget(kMoldableUnits);
    const auto answer = search_moldable(problem, budget);
    const auto bounds = moldable_bounds(problem);
    SEPTULE_CHECK(answer.has_value() && bounds.has_value(), "drawn tasks can be scheduled");
    const double bound = bounds->best().to_seconds();
    const Duration fixed = answer->best_static.value_or(answer->far);
    const Duration ours = answer->schedule.makespan;
    figures.far_over_area.add(answer->far.to_seconds() / bounds->area.to_seconds());
    figures.far.add(answer->far.to_seconds() / bound);
    figures.fixed.add(fixed.to_seconds() / bound);
    figures.search.add(ours.to_seconds() / bound);
    figures.worse += ours > std::min(fixed, answer->far) ? 1 : 0;
  });
  return figures;
}

}  // namespace septule::optimize::test
