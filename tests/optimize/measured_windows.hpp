#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "gpu/sharing_template.hpp"
#include "job/csv_rows.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/window.hpp"
#include "predict/co_run_views.hpp"
#include "predict/measured_co_run.hpp"

// Windows of measured inference jobs (44 jobs of 11 models on an A100-80GB: alone on each slice,
// and all pairs under default MPS), from reference material. For
// bench/window_report.cpp and bench/window_rl_report.cpp.
namespace septule::test {

/// The 44 jobs with what was measured of them. Every job has the same work on the whole GPU.
struct MeasuredWindows {
  std::vector<std::string> names;  ///< "resnet50:8"
  std::unique_ptr<predict::MeasuredCoRunModel> model;
};

namespace measured {

inline std::optional<ProfileIndex> place_of(const gpu::Geometry& gpu, const std::string& name) {
  return name == "full" ? std::nullopt : gpu.find_profile(name);
}

}  // namespace measured

/// Left out: pairs on 7g, whose means equal another column in the source, and pairs of a job with
/// itself, which no window has.
inline MeasuredWindows measured_windows(const gpu::Geometry& gpu,
                                        const std::filesystem::path& root) {
  MeasuredWindows out;
  const std::filesystem::path folder = root / "data/hierarchical";
  std::map<std::string, std::size_t> index;
  std::map<std::string, std::map<std::string, double>> alone;  // job -> place -> ms
  for (const auto& row : csv_rows(folder / "sustech_a100_80gb_inference_mig_single.csv")) {
    const std::string name = fmt::format("{}:{}", row.at("model"), row.at("batch"));
    if (index.emplace(name, out.names.size()).second) {
      out.names.push_back(name);
    }
    alone[name][row.at("partition")] = number_of(row, "mean_ms");
  }
  std::vector<predict::MeasuredSpeed> speeds;
  for (const std::string& name : out.names) {
    for (const auto& [place, ms] : alone[name]) {
      if (const auto profile = measured::place_of(gpu, place)) {
        speeds.push_back(
            {.job = index[name], .profile = *profile, .speed = alone[name].at("full") / ms});
      }
    }
  }
  std::vector<predict::MeasuredPair> pairs;
  for (const auto& row : csv_rows(folder / "sustech_a100_80gb_pairs_mig_mps.csv")) {
    if (row.at("mean1_ms").empty() || row.at("partition").starts_with("7g")) {
      continue;
    }
    const std::string first = fmt::format("{}:{}", row.at("model1"), row.at("batch1"));
    const std::string second = fmt::format("{}:{}", row.at("model2"), row.at("batch2"));
    const std::string& place = row.at("partition");
    if (first == second || !alone[first].contains(place) || !alone[second].contains(place)) {
      continue;
    }
    pairs.push_back({.first = index.at(first),
                     .second = index.at(second),
                     .profile = measured::place_of(gpu, place),
                     .slowdown = {number_of(row, "mean1_ms") / alone[first].at(place),
                                  number_of(row, "mean2_ms") / alone[second].at(place)}});
  }
  auto model = predict::MeasuredCoRunModel::make(out.names.size(), speeds, pairs);
  SEPTULE_CHECK(model.has_value(), "measured figures are valid");
  out.model = std::move(model).value();
  return out;
}

/// A window of measured jobs; `model` is its part of the whole table.
struct DrawnWindow {
  std::vector<std::size_t> members;  ///< numbers in MeasuredWindows::names
  std::vector<plan::WindowJob> jobs;
  std::unique_ptr<predict::SelectedCoRun> model;
};

inline DrawnWindow window_of(const MeasuredWindows& all, std::span<const std::size_t> members) {
  DrawnWindow out;
  out.members.assign(members.begin(), members.end());
  for (const std::size_t member : out.members) {
    // Where a pair did not fit it was not measured, so no memory needs to be known.
    out.jobs.push_back({.name = all.names[member],
                        .user = "",
                        .trust = "",
                        .memory = Bytes::mebibytes(1),
                        .solo = Duration::milliseconds(100000)});
  }
  out.model = std::make_unique<predict::SelectedCoRun>(*all.model, out.members);
  return out;
}

/// Different jobs, drawn without replacement.
inline DrawnWindow draw_measured(const MeasuredWindows& all, std::size_t size, Rng rng) {
  std::vector<std::size_t> numbers(all.names.size());
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  rng.shuffle(std::span<std::size_t>(numbers));
  return window_of(all, std::span(numbers).first(size));
}

}  // namespace septule::test
