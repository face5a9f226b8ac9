#include "septule/predict_view.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "gpu/inventory.hpp"
#include "learn/slice_models.hpp"
#include "report/table.hpp"
#include "septule/inputs.hpp"
#include "septule/plan_view.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;
using optimize::MemoryFit;
using optimize::PredictedJob;

/// What is shown of one job on one slice. Nothing in `speed` = it does not fit.
struct Cell {
  MemoryFit fit = MemoryFit::kFits;
  std::optional<double> speed;
  double sd = 0;
  double low = 0;
  double high = 0;
};

Cell cell_of(const PredictedRun& run, std::size_t job, std::size_t slice) {
  const predict::SlicePrediction& prediction = run.jobs[job].prediction;
  Cell cell{.fit = run.fits[job][slice]};
  if (optimize::may_be_used(cell.fit)) {
    const double half = kIntervalSds * prediction.speed_sd[slice];
    cell.speed = prediction.speed[slice];
    cell.sd = prediction.speed_sd[slice];
    cell.low = std::max(0.0, *cell.speed - half);
    cell.high = *cell.speed + half;
  }
  return cell;
}

/// Seven significant digits: as many as a network's numbers have.
Json figure(double value) {
  return checked_value(parse_number(fmt::format("{:.7g}", value)), "a printed number is one");
}

/// true, false, or null where nothing is known.
Json fit_value(MemoryFit fit) {
  switch (fit) {
    case MemoryFit::kFits:
      return true;
    case MemoryFit::kTooSmall:
      return false;
    case MemoryFit::kNotPublished:
    case MemoryFit::kNotDeclared:
      break;
  }
  return nullptr;
}

Json slice_document(const Cell& cell, const std::string& profile) {
  Json document{{"profile", profile}, {"fits", fit_value(cell.fit)}};
  document["memory"] = optimize::memory_fit_name(cell.fit);
  document["speed"] = cell.speed ? figure(*cell.speed) : Json(nullptr);
  document["sd"] = cell.speed ? figure(cell.sd) : Json(nullptr);
  document["low"] = cell.speed ? figure(cell.low) : Json(nullptr);
  document["high"] = cell.speed ? figure(cell.high) : Json(nullptr);
  return document;
}

/// "serial_part": the name of a limit as a field.
std::string limit_key(predict::Limit limit) {
  std::string key = lower_case(predict::limit_name(limit));
  std::ranges::replace(key, ' ', '_');
  return key;
}

/// What advice on one slice has to know of the job.
predict::LimitPlace limit_place(const PredictedRun& run, std::size_t job, std::size_t slice) {
  predict::LimitPlace place{.size = slice == 0 ? predict::LimitPlace::Size::kWholeGpu
                                               : predict::LimitPlace::Size::kInstance,
                            .speed_least = std::nullopt};
  for (std::size_t i = 0; i < predict::kSlices; ++i) {  // slices come from the largest
    if (optimize::may_be_used(run.fits[job][i])) {
      place.speed_least = run.jobs[job].prediction.speed[i];
    }
  }
  return place;
}

/// Null without --explain.
Json limits_document(const PredictedRun& run, std::size_t job) {
  const std::optional<predict::SliceLimits>& limits = run.limits[job];
  if (!limits) {
    return nullptr;
  }
  Json document{{"from", limits->is_measured ? "measured step times" : "predicted speeds"},
                {"points", limits->point_count}};
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    const std::string slice(predict::kSliceNames[i]);
    const std::optional<predict::LimitShares>& shares = limits->shares[i];
    if (!shares) {
      document[slice] = nullptr;
      continue;
    }
    for (std::size_t k = 0; k < predict::kLimits; ++k) {
      const double share = shares->share[k];
      if (share > 0) {
        document[slice]["shares"][limit_key(static_cast<predict::Limit>(k))] = figure(share);
      }
    }
    document[slice]["text"] = predict::explain_limits(*shares, limit_place(run, job, i));
  }
  return document;
}

Json job_document(const PredictView& view, const PredictedRun& run, std::size_t job) {
  const PredictedJob& one = run.jobs[job];
  Json document{{"name", one.name}};
  document["memory_mib"] = one.memory ? Json(one.memory->whole_mebibytes()) : Json(nullptr);
  document["smallest"] = one.smallest
                             ? Json(predict::kSliceNames[static_cast<std::size_t>(*one.smallest)])
                             : Json(nullptr);
  document["slices"] = Json::object();
  for (std::size_t i = 0; i < predict::kSlices; ++i) {
    document["slices"][std::string(predict::kSliceNames[i])] =
        slice_document(cell_of(run, job, i), view.geometry.profile(view.profiles[i]).name);
  }
  document["limits"] = limits_document(run, job);
  return document;
}

std::string limits_text(const PredictedRun& run) {
  std::string text;
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    const std::optional<predict::SliceLimits>& limits = run.limits[j];
    if (!limits) {
      continue;
    }
    const bool has_counters = run.matrix.counters[j].sm_percent.has_value();
    text += fmt::format(
        "\nwhat limits {} when alone: an estimate from {} {}{}{}\n",
        run.jobs[j].name,
        limits->point_count,
        limits->is_measured ? "measured step time" : "predicted speed",
        limits->point_count == 1 ? "" : "s",
        has_counters ? " and its counters" : "; sm_percent and memory_percent sharpen it");
    bool has_unusable = false;
    for (std::size_t i = 0; i < predict::kSlices; ++i) {
      if (const std::optional<predict::LimitShares>& shares = limits->shares[i]; shares) {
        text += fmt::format("  {}  {}\n",
                            predict::kSliceNames[i],
                            predict::explain_limits(*shares, limit_place(run, j, i)));
        has_unusable |= shares->of(predict::Limit::kUnusableSms) >= 0.01;
      }
    }
    if (has_unusable) {
      text +=
          "  (unusable SMs: compute time that more SMs would not shorten, as its kernels are too "
          "small to fill them)\n";
    }
  }
  return text;
}

Json confidence_document(const PredictedRun& run) {
  if (!run.confidence) {
    return nullptr;
  }
  return {{"draws", run.confidence->draws},
          {"seed", run.drawn.seed},
          {"same_choice", figure(run.confidence->same_choice)},
          {"within_one_percent", figure(run.confidence->within_one_percent)},
          {"loss_mean", figure(run.confidence->loss_mean)},
          {"total_low", figure(run.confidence->total_low)},
          {"total_high", figure(run.confidence->total_high)}};
}

Json run_document(const PredictView& view, const PredictedRun& run) {
  Json document = Json::object();
  document["name"] = run.name.empty() ? Json(nullptr) : Json(run.name);
  document["mps_levels"] = Json::array();
  for (const predict::MpsMatrix::Level& level : run.matrix.levels) {
    document["mps_levels"].push_back(level.atp.value());
  }
  document["jobs"] = Json::array();
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    document["jobs"].push_back(job_document(view, run, j));
  }
  const gpu::Inventory before = empty_inventory({{GpuIndex(0), &view.geometry}});
  document["plan"] = plan_document(run.plan, run.speeds, gpu::ProfileSet::kPlain, before);
  document["confidence"] = confidence_document(run);
  return document;
}

std::string memory_text(const PredictedJob& job) {
  std::string text;
  if (job.memory) {
    text = fmt::format("{:.1f} GiB", job.memory->to_gibibytes());
  }
  if (job.smallest) {
    text += fmt::format("{}from {}",
                        text.empty() ? "" : ", ",
                        predict::kSliceNames[static_cast<std::size_t>(*job.smallest)]);
  }
  return text.empty() ? "N/A" : text;
}

std::string cell_text(const Cell& cell) {
  if (!cell.speed) {
    return cell.fit == MemoryFit::kNotPublished ? "N/A" : "does not fit";
  }
  if (cell.sd == 0) {
    return fmt::format("{:.2f}", *cell.speed);
  }
  return fmt::format("{:.2f} ({:.2f}..{:.2f})", *cell.speed, cell.low, cell.high);
}

std::string levels_text(const predict::MpsMatrix& matrix) {
  std::string text;
  for (std::size_t i = 0; i < matrix.levels.size(); ++i) {
    const bool is_last = i + 1 == matrix.levels.size();
    text += fmt::format("{}{}",
                        i == 0    ? ""
                        : is_last ? " and "
                                  : ", ",
                        matrix.levels[i].atp.value());
  }
  return text + " %";
}

std::string confidence_text(const PredictedRun& run) {
  if (!run.confidence || run.jobs.size() == 1) {  // one job has the largest slice it fits
    return "";
  }
  const optimize::LayoutConfidence& confidence = *run.confidence;
  return fmt::format(
      "how sure: of {} draws from the intervals {:.0f} % choose the same and {:.0f} % lose at most "
      "1 %;\n  total speed {:.2f} ({:.2f}..{:.2f})\n",
      confidence.draws,
      100 * confidence.same_choice,
      100 * confidence.within_one_percent,
      run.plan.objective_value.value_or(0),
      confidence.total_low,
      confidence.total_high);
}

/// Of a job that got the largest instance: its speed was asked of the whole GPU.
std::string whole_gpu_note(const PredictView& view, const PredictedRun& run) {
  if (!run.plan.is_feasible) {
    return "";
  }
  const plan::GpuPlan& gpu = run.plan.gpus.front();
  const bool has_whole =
      std::ranges::any_of(gpu.partition.instances, [&](const gpu::GpuInstance& instance) {
        return instance.placed.profile == view.profiles.front();
      });
  return has_whole ? fmt::format(
                         "note: 1.00 is the whole GPU with MIG off; in an instance {} the "
                         "job is somewhat slower\n",
                         view.geometry.profile(view.profiles.front()).name)
                   : "";
}

std::string run_text(const PredictView& view, const PredictedRun& run) {
  std::string text;
  if (!run.name.empty()) {
    text += fmt::format("run {}: ", run.name);
  }
  text += fmt::format("{} job{} together, measured at {}\n",
                      run.jobs.size(),
                      run.jobs.size() == 1 ? "" : "s",
                      levels_text(run.matrix));
  std::vector<report::Table::Column> columns = {{"JOB"}, {"MEMORY"}};
  for (const std::string_view slice : predict::kSliceNames) {
    columns.push_back({std::string(slice)});
  }
  report::Table table(std::move(columns));
  for (std::size_t j = 0; j < run.jobs.size(); ++j) {
    std::vector<std::string> cells = {run.jobs[j].name, memory_text(run.jobs[j])};
    for (std::size_t i = 0; i < predict::kSlices; ++i) {
      cells.push_back(cell_text(cell_of(run, j, i)));
    }
    table.add_row(std::move(cells));
  }
  return text + table.text() + "\n" + plan_text(run.plan, run.speeds, SpeedOrigin::kPredicted) +
         whole_gpu_note(view, run) + confidence_text(run) + limits_text(run);
}

/// A cell of a CSV row: quoted where it has to be.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"") == std::string::npos && text == std::string(trimmed(text))) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

}  // namespace

nlohmann::ordered_json predict_document(const PredictView& view) {
  const learn::TrainingRecipe& recipe = view.model.recipe;
  Json model{{"name", view.model.model->name()},
             {"weights", view.model.source},
             {"trained_on", learn::kTrainedGpu},
             {"recipe", recipe.command},
             {"seed", recipe.seed},
             {"data_digest", recipe.data_digest}};
  Json document{
      {"schema", "septule-predict/1"}, {"source", view.source_name}, {"gpu", view.geometry.key()}};
  document["is_trained_gpu"] = view.geometry.key() == learn::kTrainedGpu;
  document["model"] = std::move(model);
  document["small_slices"] = view.model.is_regressed ? "regression" : "network";
  document["interval_coverage"] = kIntervalCoverage;
  document["runs"] = Json::array();
  for (const PredictedRun& run : view.runs) {
    document["runs"].push_back(run_document(view, run));
  }
  return document;
}

std::string predict_csv(const PredictView& view) {
  std::string text = "run,job,slice,profile,fits,speed,sd,low,high\n";
  for (const PredictedRun& run : view.runs) {
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      for (std::size_t i = 0; i < predict::kSlices; ++i) {
        const Cell cell = cell_of(run, j, i);
        const Json fits = fit_value(cell.fit);
        text += fmt::format("{},{},{},{},{}",
                            csv_cell(run.name),
                            csv_cell(run.jobs[j].name),
                            predict::kSliceNames[i],
                            view.geometry.profile(view.profiles[i]).name,
                            fits.is_null() ? ""
                            : fits         ? "yes"
                                           : "no");
        text +=
            cell.speed
                ? fmt::format(
                      ",{:.7g},{:.7g},{:.7g},{:.7g}\n", *cell.speed, cell.sd, cell.low, cell.high)
                : ",,,,\n";
      }
    }
  }
  return text;
}

std::string predict_text(const PredictView& view) {
  std::string text = fmt::format(
      "speeds on {} relative to the whole GPU, predicted by {} ({}){}; in brackets the "
      "{:.0f} % interval\n",
      view.geometry.key(),
      view.model.model->name(),
      view.model.source,
      view.model.is_regressed ? ", 2g and 1g by regression" : "",
      100 * kIntervalCoverage);
  for (const PredictedRun& run : view.runs) {
    text += "\n" + run_text(view, run);
  }
  return text;
}

}  // namespace septule::app
