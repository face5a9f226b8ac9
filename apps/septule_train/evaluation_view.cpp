#include "septule_train/evaluation_view.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace septule::train_app {

namespace {

using Json = nlohmann::ordered_json;
using learn_train::ErrorSums;
using learn_train::Judgement;
using report::Align;
using report::Table;

/// Mean and range of a figure over seeds; nothing if a seed has none.
struct Ranged {
  double mean = 0;
  double least = 0;
  double largest = 0;
};

std::optional<Ranged> ranged(const std::vector<std::optional<double>>& values) {
  std::optional<Ranged> result;
  for (const std::optional<double>& value : values) {
    if (!value) {
      return std::nullopt;
    }
    if (!result) {
      result = Ranged{.mean = 0, .least = *value, .largest = *value};
    }
    result->mean += *value / static_cast<double>(values.size());
    result->least = std::min(result->least, *value);
    result->largest = std::max(result->largest, *value);
  }
  return result;
}

template <class Items, class Figure>
std::optional<Ranged> over(const Items& items, Figure figure) {
  std::vector<std::optional<double>> values;
  for (const auto& one : items) {
    values.push_back(figure(one));
  }
  return ranged(values);
}

std::string error_cell(const std::optional<Ranged>& value) {
  return value ? fmt::format("{:.4f}", value->mean) : "N/A";
}
std::string range_cell(const std::optional<Ranged>& value) {
  return value ? fmt::format("{:.4f}-{:.4f}", value->least, value->largest) : "N/A";
}
std::string percent_cell(const std::optional<Ranged>& value) {
  return value ? fmt::format("{:.2f} %", 100 * value->mean) : "N/A";
}
std::string coverage_cell(double within_one_sd, double within_two_sd) {
  return fmt::format("{:.0f} / {:.0f} %", 100 * within_one_sd, 100 * within_two_sd);
}
Json number(const std::optional<Ranged>& value) {
  return value ? Json{{"mean", value->mean}, {"least", value->least}, {"largest", value->largest}}
               : Json(nullptr);
}

/// A figure of an ErrorSums, by name.
struct ErrorFigure {
  const char* name;
  std::optional<double> (*value)(const ErrorSums& sums);
};
constexpr std::array<ErrorFigure, 8> kErrorFigures = {
    {{"all", [](const ErrorSums& sums) { return sums.all.mean(); }},
     {"real", [](const ErrorSums& sums) { return sums.real.mean(); }},
     {"7g", [](const ErrorSums& sums) { return sums.time[0].mean(); }},
     {"4g", [](const ErrorSums& sums) { return sums.time[1].mean(); }},
     {"3g", [](const ErrorSums& sums) { return sums.time[2].mean(); }},
     {"2g", [](const ErrorSums& sums) { return sums.speed[3].mean(); }},
     {"1g", [](const ErrorSums& sums) { return sums.speed[4].mean(); }},
     {"dummy", [](const ErrorSums& sums) { return sums.dummy.mean(); }}}};

/// Without fillers a row has no "all" and no "dummy", though rows of seven jobs would.
bool is_figure_without_fillers(const char* name) {
  return std::string_view(name) != "all" && std::string_view(name) != "dummy";
}

std::string mix_text(const Evaluation& evaluation, ErrorSums Judgement::* errors) {
  const bool has_fillers = errors == &Judgement::errors;
  std::vector<Table::Column> columns = {{"predictor"}, {"seeds", Align::kRight}};
  for (const ErrorFigure& figure : kErrorFigures) {
    if (has_fillers || is_figure_without_fillers(figure.name)) {
      columns.push_back({figure.name, Align::kRight});
    }
  }
  if (has_fillers) {
    columns.push_back({"best epoch", Align::kRight});
  }
  Table table(columns);
  for (const MixFigures& one : evaluation.by_mix) {
    if (!over(one.seeds, [&](const Judgement& seed) { return (seed.*errors).real.mean(); })) {
      continue;  // not judged in this mode
    }
    std::vector<std::string> cells = {one.name, fmt::format("{}", one.seeds.size())};
    std::vector<std::string> ranges = {"  range", ""};
    for (const ErrorFigure& figure : kErrorFigures) {
      if (has_fillers || is_figure_without_fillers(figure.name)) {
        const auto value =
            over(one.seeds, [&](const Judgement& seed) { return figure.value(seed.*errors); });
        cells.push_back(error_cell(value));
        ranges.push_back(range_cell(value));
      }
    }
    if (has_fillers) {
      const auto best = over(one.best_epoch, [](double value) { return std::optional(value); });
      cells.push_back(error_cell(best));
      ranges.push_back(range_cell(best));
    }
    table.add_row(cells);
    if (one.seeds.size() > 1) {
      table.add_row(ranges);
    }
  }
  return table.text();
}

/// Errors of a Judgement, and in which circumstances.
struct CoverageKind {
  const char* fillers;
  const char* told;
  ErrorSums Judgement::* errors;
};
constexpr std::array<CoverageKind, 4> kCoverageKinds = {
    {{"measured", "what fits", &Judgement::informed},
     {"measured", "nothing", &Judgement::errors},
     {"none", "what fits", &Judgement::informed_without_fillers},
     {"none", "nothing", &Judgement::without_fillers}}};

/// Shares of speeds within one and two standard deviations, means over seeds.
struct Coverage {
  std::optional<Ranged> one_sd;
  std::optional<Ranged> two_sd;
};
Coverage coverage(const std::vector<Judgement>& seeds, ErrorSums Judgement::* errors) {
  return {.one_sd = over(
              seeds, [&](const Judgement& seed) { return (seed.*errors).within_one_sd.mean(); }),
          .two_sd = over(
              seeds, [&](const Judgement& seed) { return (seed.*errors).within_two_sd.mean(); })};
}

std::string coverage_text(const Evaluation& evaluation) {
  Table table({{"predictor"},
               {"fillers"},
               {"told"},
               {"within 1 sd", Align::kRight},
               {"within 2 sd", Align::kRight}});
  for (const MixFigures& one : evaluation.by_mix) {
    for (const CoverageKind& kind : kCoverageKinds) {
      const Coverage shares = coverage(one.seeds, kind.errors);
      if (shares.one_sd) {
        table.add_row({one.name,
                       kind.fillers,
                       kind.told,
                       percent_cell(shares.one_sd),
                       percent_cell(shares.two_sd)});
      }
    }
  }
  return table.text();
}

/// "73 / 95 %" by family that was left out, and the mean of the families.
std::string family_coverage_text(const Evaluation& evaluation) {
  std::vector<Table::Column> columns = {{"predictor"}, {"fillers"}, {"told"}};
  for (const auto& [family, seeds] : evaluation.by_family.front().families) {
    columns.push_back({family, Align::kRight});
  }
  columns.push_back({"mean", Align::kRight});
  Table table(columns);
  for (const FamilyFigures& one : evaluation.by_family) {
    for (const CoverageKind& kind : kCoverageKinds) {
      std::vector<std::string> cells = {one.name, kind.fillers, kind.told};
      learn_train::MeanSum one_sd;
      learn_train::MeanSum two_sd;
      for (const auto& [family, seeds] : one.families) {
        const Coverage shares = coverage(seeds, kind.errors);
        if (shares.one_sd && shares.two_sd) {
          one_sd.add(shares.one_sd->mean);
          two_sd.add(shares.two_sd->mean);
          cells.push_back(coverage_cell(shares.one_sd->mean, shares.two_sd->mean));
        }
      }
      const std::optional<double> mean_one = one_sd.mean();
      const std::optional<double> mean_two = two_sd.mean();
      if (mean_one && mean_two && cells.size() + 1 == columns.size()) {
        cells.push_back(coverage_cell(*mean_one, *mean_two));
        table.add_row(cells);
      }
    }
  }
  return table.text();
}

/// A list of losses of a Judgement, and in which circumstances.
struct LossKind {
  const char* fillers;
  const char* told;
  std::vector<double> Judgement::* losses;
};
constexpr std::array<LossKind, 4> kLossKinds = {
    {{"measured", "what fits", &Judgement::losses_informed},
     {"measured", "nothing", &Judgement::losses},
     {"none", "what fits", &Judgement::losses_informed_without_fillers},
     {"none", "nothing", &Judgement::losses_without_fillers}}};

struct LossFigures {
  std::optional<Ranged> mean;
  std::optional<Ranged> p95;
  std::optional<Ranged> max;
  std::size_t count = 0;
};
LossFigures loss_figures(const MixFigures& figures, std::vector<double> Judgement::* losses) {
  const auto over_seeds = [&](auto part) {
    return over(figures.seeds, [&](const Judgement& seed) -> std::optional<double> {
      const auto summary = learn_train::summarise(seed.*losses);
      return summary ? std::optional(part(*summary)) : std::nullopt;
    });
  };
  return {.mean = over_seeds([](const learn_train::LossSummary& s) { return s.mean; }),
          .p95 = over_seeds([](const learn_train::LossSummary& s) { return s.p95; }),
          .max = over_seeds([](const learn_train::LossSummary& s) { return s.max; }),
          .count = figures.seeds.empty() ? 0 : (figures.seeds.front().*losses).size()};
}

std::string loss_text(const Evaluation& evaluation) {
  Table table({{"predictor"},
               {"fillers"},
               {"told"},
               {"decisions", Align::kRight},
               {"mean", Align::kRight},
               {"p95", Align::kRight},
               {"max", Align::kRight}});
  for (const MixFigures& one : evaluation.by_mix) {
    for (const LossKind& kind : kLossKinds) {
      const LossFigures figures = loss_figures(one, kind.losses);
      const bool is_baseline = std::ranges::all_of(
          one.seeds, [](const Judgement& s) { return s.losses_informed == s.losses; });
      if (!figures.mean || (is_baseline && kind.told == kLossKinds[1].told)) {
        continue;  // what fits makes no difference to it beyond forbidding
      }
      table.add_row({one.name,
                     kind.fillers,
                     is_baseline ? "nothing" : kind.told,
                     fmt::format("{}", figures.count),
                     percent_cell(figures.mean),
                     percent_cell(figures.p95),
                     percent_cell(figures.max)});
    }
  }
  return table.text();
}

std::optional<double> family_error(const std::vector<Judgement>& seeds,
                                   ErrorSums Judgement::* errors) {
  const auto value = over(seeds, [&](const Judgement& seed) { return (seed.*errors).real.mean(); });
  return value ? std::optional(value->mean) : std::nullopt;
}

std::string family_text(const Evaluation& evaluation, ErrorSums Judgement::* errors) {
  std::vector<Table::Column> columns = {{"predictor"}};
  for (const auto& [family, seeds] : evaluation.by_family.front().families) {
    columns.push_back({family, Align::kRight});
  }
  columns.push_back({"mean", Align::kRight});
  Table table(columns);
  for (const FamilyFigures& one : evaluation.by_family) {
    std::vector<std::string> cells = {one.name};
    std::vector<std::optional<double>> values;
    for (const auto& [family, seeds] : one.families) {
      const std::optional<double> error = family_error(seeds, errors);
      values.push_back(error);
      cells.push_back(error ? fmt::format("{:.4f}", *error) : "N/A");
    }
    cells.push_back(error_cell(ranged(values)));
    if (cells.size() == columns.size() && cells.back() != "N/A") {
      table.add_row(cells);
    }
  }
  return table.text();
}

Json errors_document(const std::vector<Judgement>& seeds, ErrorSums Judgement::* errors) {
  const bool has_fillers = errors == &Judgement::errors;
  Json document = Json::object();
  for (const ErrorFigure& figure : kErrorFigures) {
    if (has_fillers || is_figure_without_fillers(figure.name)) {
      document[figure.name] =
          number(over(seeds, [&](const Judgement& seed) { return figure.value(seed.*errors); }));
    }
  }
  document["within_one_sd"] = number(
      over(seeds, [&](const Judgement& seed) { return (seed.*errors).within_one_sd.mean(); }));
  document["within_two_sd"] = number(
      over(seeds, [&](const Judgement& seed) { return (seed.*errors).within_two_sd.mean(); }));
  return document;
}

Json coverage_document(const std::vector<Judgement>& seeds) {
  Json document = Json::array();
  for (const CoverageKind& kind : kCoverageKinds) {
    const Coverage shares = coverage(seeds, kind.errors);
    if (shares.one_sd) {
      document.push_back(Json{{"fillers", kind.fillers},
                              {"told", kind.told},
                              {"within_one_sd", number(shares.one_sd)},
                              {"within_two_sd", number(shares.two_sd)}});
    }
  }
  return document;
}

}  // namespace

std::string evaluation_text(const Evaluation& evaluation) {
  std::string text;
  if (!evaluation.by_mix.empty()) {
    text += fmt::format(
        "Mean absolute error by job mix, folds {} pooled (times relative to the largest of a "
        "column on 7g, 4g, 3g; speeds relative to 7g on 2g, 1g)\n",
        fmt::join(evaluation.folds, ", "));
    text += mix_text(evaluation, &Judgement::errors);
    text += "\nThe same without the fillers' columns (as in use)\n";
    text += mix_text(evaluation, &Judgement::without_fillers);
    text += "\nHow often the error of a speed is within its standard deviation\n";
    text += coverage_text(evaluation);
    text += "\nTotal true speed lost by the layout chosen from predictions\n";
    text += loss_text(evaluation);
  }
  if (!evaluation.by_family.empty()) {
    text += fmt::format("{}Mean absolute error on a family that was left out (7g, 4g, 3g)\n",
                        text.empty() ? "" : "\n");
    text += family_text(evaluation, &Judgement::errors);
    text += "\nThe same without the fillers' columns\n";
    text += family_text(evaluation, &Judgement::without_fillers);
    text += "\nWith the fillers' columns, told in which slices each job fits\n";
    text += family_text(evaluation, &Judgement::informed);
    text += "\nWithout the fillers' columns, told in which slices each job fits\n";
    text += family_text(evaluation, &Judgement::informed_without_fillers);
    text += "\nHow often the error of a speed is within one / two standard deviations there\n";
    text += family_coverage_text(evaluation);
  }
  return text;
}

Json evaluation_document(const Evaluation& evaluation) {
  Json document{{"schema", "septule-evaluation/1"}, {"folds", evaluation.folds}};
  Json mixes = Json::array();
  for (const MixFigures& one : evaluation.by_mix) {
    Json losses = Json::array();
    for (const LossKind& kind : kLossKinds) {
      const LossFigures figures = loss_figures(one, kind.losses);
      if (figures.mean) {
        losses.push_back(Json{{"fillers", kind.fillers},
                              {"told", kind.told},
                              {"decisions", figures.count},
                              {"mean", number(figures.mean)},
                              {"p95", number(figures.p95)},
                              {"max", number(figures.max)}});
      }
    }
    mixes.push_back(
        Json{{"predictor", one.name},
             {"seeds", one.seeds.size()},
             {"errors", errors_document(one.seeds, &Judgement::errors)},
             {"errors_without_fillers", errors_document(one.seeds, &Judgement::without_fillers)},
             {"coverage", coverage_document(one.seeds)},
             {"best_epoch",
              number(over(one.best_epoch, [](double value) { return std::optional(value); }))},
             {"decision_loss", std::move(losses)}});
  }
  document["by_mix"] = std::move(mixes);
  Json families = Json::array();
  for (const FamilyFigures& one : evaluation.by_family) {
    Json parts = Json::object();
    for (const auto& [family, seeds] : one.families) {
      parts[family] =
          Json{{"seeds", seeds.size()},
               {"errors", errors_document(seeds, &Judgement::errors)},
               {"errors_without_fillers", errors_document(seeds, &Judgement::without_fillers)},
               {"coverage", coverage_document(seeds)}};
    }
    families.push_back(Json{{"predictor", one.name}, {"families", std::move(parts)}});
  }
  document["by_family"] = std::move(families);
  return document;
}

}  // namespace septule::train_app
