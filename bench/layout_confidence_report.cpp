// Prints whether `septule predict` knows how sure it is (docs/predict.md): intervals of speeds and
// what the draws say of the layout, against the truth, on co-runs of one fold of job mixes.
//   layout_confidence_report DATA FOLD WEIGHTS [CORRELATION]
// DATA: MISO's measurements (docs/commands/train.md); WEIGHTS: of a network trained without FOLD.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "gpu/builtin_catalogue.hpp"
#include "interop/csv_reader.hpp"
#include "interop/npy_reader.hpp"
#include "learn/slice_models.hpp"
#include "optimize/layout_confidence.hpp"
#include "optimize/slice_assignment.hpp"
#include "support/read_file.hpp"

namespace septule {
namespace {

using Speeds = std::array<double, predict::kSlices>;  // 0 = does not fit

/// A co-run without its fillers: what was measured, and the true speeds.
struct CoRun {
  predict::MpsMatrix matrix;
  std::vector<Speeds> truth;
};

using Row = std::map<std::string, std::string>;

std::vector<Row> rows_of(const std::filesystem::path& path) {
  std::vector<Row> rows;
  std::vector<std::string> heading;
  const std::string text = test::read_file(path);
  constexpr interop::CsvLimits kLimits{.bytes_max = std::size_t{1} << 24U, .rows_max = 100000};
  const Status read =
      interop::visit_csv({text, path.string()}, kLimits, [&](const interop::CsvRow& row) {
        if (heading.empty()) {
          heading = row.cells;
          return Status();
        }
        Row named;
        for (std::size_t i = 0; i < std::min(heading.size(), row.cells.size()); ++i) {
          named[heading[i]] = row.cells[i];
        }
        rows.push_back(std::move(named));
        return Status();
      });
  SEPTULE_CHECK(read.is_ok(), "the table can be read");
  return rows;
}

double number(const std::string& text) {
  return checked_value(parse_number(text), "a figure of the data is a number");
}

/// True speeds by class id; fillers are left out.
std::map<std::string, Speeds> true_speeds(const std::filesystem::path& data) {
  std::map<std::string, Speeds> steps;
  for (const Row& row : rows_of(data / "profiles.csv")) {
    if (row.at("fits") == "1") {
      const auto slice = std::ranges::find(predict::kSliceNames, row.at("slice").substr(0, 2));
      steps[row.at("model") + ":" + row.at("batch")]
           [static_cast<std::size_t>(slice - predict::kSliceNames.begin())] =
               number(row.at("mean_step_s_artifact"));
    }
  }
  std::map<std::string, Speeds> speeds;
  for (const Row& row : rows_of(data / "unet_classes.csv")) {
    const auto found = steps.find(row.at("model") + ":" + row.at("batch"));
    if (found != steps.end()) {
      Speeds& one = speeds[row.at("class_id")];
      for (std::size_t i = 0; i < predict::kSlices; ++i) {
        one[i] = found->second[i] > 0 ? found->second[0] / found->second[i] : 0;
      }
    }
  }
  return speeds;
}

std::vector<CoRun> co_runs(const std::filesystem::path& data, const std::string& fold) {
  const std::map<std::string, Speeds> truth = true_speeds(data);
  const std::string bytes = test::read_file(data / "unet_input.npy");
  const auto input = interop::read_npy({bytes, "unet_input.npy"});
  std::set<std::string> seen;
  std::vector<CoRun> runs;
  for (const Row& row : rows_of(data / "unet_rows.csv")) {
    if (row.at("val5") != fold || number(row.at("n_active")) < 2 ||
        !seen.insert(row.at("measurement")).second) {
      continue;
    }
    CoRun run;
    for (const int level : {100, 50, 14}) {
      run.matrix.levels.push_back({.atp = ActiveThreadPercentage(level), .step = {}});
    }
    const auto first = static_cast<std::size_t>(number(row.at("row"))) * 3 * predict::kCoRunnersMax;
    for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
      const auto speeds = truth.find(row.at(fmt::format("c{}", column)));
      if (speeds == truth.end()) {
        continue;
      }
      const std::size_t to = run.truth.size();
      for (std::size_t level = 0; level < 3; ++level) {
        run.matrix.levels[level].step[to] = static_cast<double>(
            input.value().values.at(first + level * predict::kCoRunnersMax + column));
      }
      for (std::size_t i = 0; i < predict::kSlices; ++i) {
        if (speeds->second[i] > 0) {
          run.matrix.smallest[to] = ComputeSlices(predict::kSliceComputeSlices[i]);
        }
      }
      run.truth.push_back(speeds->second);
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

/// A claim "p" and whether it came true, in five classes of p.
struct Claims {
  std::array<int, 5> count{};
  std::array<double, 5> claimed{};
  std::array<int, 5> held{};

  void add(double claim, double came_true) {
    const auto at = static_cast<std::size_t>(std::min(4.0, std::floor(claim * 5)));
    ++count[at];
    claimed[at] += claim;
    held[at] += came_true > 0 ? 1 : 0;
  }
  void print(const char* what) const {
    fmt::print("{}, said / held:", what);
    for (std::size_t i = 0; i < count.size(); ++i) {
      if (count[i] > 0) {
        fmt::print("  {:.0f} / {:.0f} % ({})",
                   100 * claimed[i] / count[i],
                   100.0 * held[i] / count[i],
                   count[i]);
      }
    }
    fmt::print("\n");
  }
};

class Report {
 public:
  Report(const gpu::Geometry& geometry, const predict::SliceModel& model, double correlation)
      : geometry_(geometry), model_(model), options_{.draws = 500, .correlation = correlation} {}

  void add(const CoRun& run) {
    const auto predictions = model_.predict(run.matrix);
    const int count = static_cast<int>(run.truth.size());
    std::vector<optimize::PredictedJob> jobs;
    optimize::SpeedMatrix truth(count);
    optimize::SpeedMatrix expected(count);
    for (std::size_t j = 0; j < run.truth.size(); ++j) {
      optimize::PredictedJob job{.name = fmt::format("job-{}", j)};
      job.prediction = checked_value(predictions.value()[j], "every job is predicted");
      for (std::size_t i = 0; i < predict::kSlices && run.truth[j][i] > 0; ++i) {
        job.smallest = static_cast<predict::Slice>(i);
        const double speed = job.prediction.speed[i];
        const bool is_set =
            truth.set_speed(static_cast<int>(j), profiles_[i], run.truth[j][i]) &&
            expected.set_speed(static_cast<int>(j), profiles_[i], std::max(speed, 1e-6));
        SEPTULE_CHECK(is_set, "speeds are in range");
        const double error = std::abs(speed - run.truth[j][i]);
        slices_[i] += 1;
        held_[i] += error <= kSds * job.prediction.speed_sd[i] ? 1 : 0;
      }
      jobs.push_back(std::move(job));
    }
    judge(jobs, truth, expected);
  }

  void print() const {
    fmt::print("{} decisions; total speed lost: true {:.3f} %, expected from draws {:.3f} %\n",
               decisions_,
               100 * loss_ / decisions_,
               100 * expected_loss_ / decisions_);
    for (std::size_t i = 1; i < predict::kSlices; ++i) {
      fmt::print("90 % interval of {} holds {:.1f} % of {}\n",
                 predict::kSliceNames[i],
                 100.0 * held_[i] / slices_[i],
                 slices_[i]);
    }
    fmt::print("90 % interval of the total holds {:.1f} %\n", 100.0 * totals_held_ / decisions_);
    within_.print("loses at most 1 %");
    same_.print("the same choice");
  }

 private:
  static constexpr double kSds = 1.6449;

  void judge(const std::vector<optimize::PredictedJob>& jobs,
             const optimize::SpeedMatrix& truth,
             const optimize::SpeedMatrix& expected) {
    const auto confidence =
        optimize::layout_confidence(geometry_, profiles_, jobs, options_).value();
    if (!confidence) {
      return;
    }
    constexpr auto kSum = plan::ObjectiveKind::kSumOfSpeeds;
    optimize::SliceAssignment best;
    optimize::SliceAssignment choice;
    assigner_.solve(truth, kSum, best);
    assigner_.solve(expected, kSum, choice);
    double total = 0;
    bool is_same = true;
    for (int job = 0; job < choice.job_count; ++job) {
      const auto at = static_cast<std::size_t>(job);
      total += truth.speed(job, choice.slots[at].placed.profile);
      is_same &= choice.slots[at].placed.profile == best.slots[at].placed.profile;
    }
    const double loss = 1 - total / best.objective;
    constexpr double kRounding = 1e-6;
    ++decisions_;
    loss_ += loss;
    expected_loss_ += confidence->loss_mean;
    totals_held_ +=
        total >= confidence->total_low - kRounding && total <= confidence->total_high + kRounding
            ? 1
            : 0;
    within_.add(confidence->within_one_percent, loss <= 0.01 ? 1 : 0);
    same_.add(confidence->same_choice, is_same ? 1 : 0);
  }

  const gpu::Geometry& geometry_;
  const predict::SliceModel& model_;
  optimize::ConfidenceOptions options_;
  optimize::SliceProfiles profiles_ = optimize::slice_profiles(geometry_).value();
  optimize::SliceAssigner assigner_ = optimize::SliceAssigner::make(geometry_, {}).value();
  std::array<int, predict::kSlices> slices_{};
  std::array<int, predict::kSlices> held_{};
  int decisions_ = 0;
  int totals_held_ = 0;
  double loss_ = 0;
  double expected_loss_ = 0;
  Claims within_;
  Claims same_;
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 3 || arguments.size() > 4) {
    fmt::print(stderr, "layout_confidence_report DATA FOLD WEIGHTS [CORRELATION]\n");
    return 2;
  }
  const std::string bytes = test::read_file(arguments[2]);
  const auto weights = learn::parse_weights(bytes, arguments[2]);
  if (!weights) {
    fmt::print(stderr, "{}\n", weights.error().message);
    return 3;
  }
  const auto model = learn::make_slice_model(*weights);
  const gpu::Catalogue catalogue = gpu::load_builtin_catalogue();
  const double correlation =
      arguments.size() == 4 ? number(arguments[3]) : optimize::kSliceErrorCorrelation;
  Report report(**catalogue.find("A100-40GB"), *model.value(), correlation);
  for (const CoRun& one : co_runs(arguments[0], arguments[1])) {
    report.add(one);
  }
  report.print();
  return 0;
}

}  // namespace
}  // namespace septule

int main(int argc, char** argv) {
  return septule::run(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
}
