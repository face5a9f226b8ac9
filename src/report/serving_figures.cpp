#include "report/serving_figures.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/check.hpp"
#include "report/number_text.hpp"
#include "report/study_csv.hpp"
#include "report/table.hpp"

namespace septule::report {

namespace {

using job::ServingRecord;

constexpr std::string_view kNotKnown = "N/A";

std::optional<double> ratio(double part, double whole) {
  return whole > 0 ? std::optional(part / whole) : std::nullopt;
}

template <class Member>
double sum_of(const ServingRecord& run, Member member) {
  double sum = 0;
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    sum += static_cast<double>(tenant.*member);
  }
  return sum;
}

std::optional<double> gap_of(const ServingRecord& run) {
  return run.bound ? ratio(*run.bound - run.weighted_goodput, run.weighted_goodput) : std::nullopt;
}

std::optional<double> planned_error(const ServingRecord& run) {
  return run.planned_goodput
             ? ratio(run.weighted_goodput - *run.planned_goodput, *run.planned_goodput)
             : std::nullopt;
}

/// A plan's record (mode "plan") does not tell how its moves are made.
std::optional<double> free_slot_share(const ServingRecord& run) {
  return run.mode == "plan"
             ? std::nullopt
             : ratio(static_cast<double>(run.moves_with_free_slot), static_cast<double>(run.moves));
}

std::optional<double> p99_max(const ServingRecord& run) {
  std::optional<double> worst;
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    if (tenant.p99_ms) {
      worst = std::max(worst.value_or(0), *tenant.p99_ms);
    }
  }
  return worst;
}

constexpr std::array kFigures = std::to_array<ServingFigure>({
    {"attainment",
     "SLO attainment",
     "1",
     "requests answered within the SLO / requests that arrived",
     [](const ServingRecord& run) { return job::attainment(run); },
     4,
     true},
    {"accuracy",
     "mean accuracy",
     "1",
     "goodput / requests answered within the SLO",
     [](const ServingRecord& run) { return job::mean_accuracy(run); },
     4,
     true},
    {"goodput",
     "goodput",
     "requests x accuracy x weight",
     "sum over tenants of weight x requests answered within the SLO x accuracy of the model that "
     "answered",
     [](const ServingRecord& run) { return std::optional(run.weighted_goodput); },
     1,
     false},
    {"goodput_rps",
     "goodput per second",
     "1/s",
     "goodput / length of the run",
     [](const ServingRecord& run) { return ratio(run.weighted_goodput, run.span.to_seconds()); },
     2,
     false},
    {"bound",
     "bound on goodput",
     "requests x accuracy x weight",
     "no policy of its kind reaches more in this run",
     [](const ServingRecord& run) { return run.bound; },
     1,
     false},
    {"gap", "gap to the bound", "1", "(bound - goodput) / goodput", gap_of, 4, true},
    {"planned_goodput",
     "planned goodput",
     "requests x accuracy x weight",
     "what the policy expected of the steps that it committed to",
     [](const ServingRecord& run) { return run.planned_goodput; },
     1,
     false},
    {"planned_error",
     "realised against planned",
     "1",
     "(goodput - planned goodput) / planned goodput",
     planned_error,
     4,
     true},
    {"p99_ms_max",
     "worst p99",
     "ms",
     "the largest p99 latency of any tenant; request mode only",
     p99_max,
     1,
     false},
    {"moves",
     "moves",
     "1",
     "processes started in instances, each with its warm-up",
     [](const ServingRecord& run) { return std::optional(static_cast<double>(run.moves)); },
     0,
     false},
    {"free_slot_share",
     "moves with a free slot",
     "1",
     "moves that warmed up while what they replaced went on / moves",
     free_slot_share,
     4,
     true},
    {"overhead_hidden",
     "overhead hidden",
     "1",
     "1 - capacity lost to warm-up / capacity lost had every move been made in place",
     [](const ServingRecord& run) { return job::overhead_hidden(run); },
     4,
     true},
    {"gpus_used",
     "GPUs used",
     "1",
     "mean number of GPUs with somebody on them",
     [](const ServingRecord& run) { return ratio(run.gpu_seconds_used, run.span.to_seconds()); },
     2,
     false},
    {"retrainings_done",
     "retrainings done",
     "1",
     "retraining jobs completed by their deadlines",
     [](const ServingRecord& run) {
       return std::optional(sum_of(run, &job::ServingTenantRecord::retrainings_done));
     },
     0,
     false},
    {"retrainings_missed",
     "retrainings missed",
     "1",
     "retraining jobs not complete at their deadlines",
     [](const ServingRecord& run) {
       return std::optional(sum_of(run, &job::ServingTenantRecord::retrainings_missed));
     },
     0,
     false},
});

std::string mean_text(const ServingPolicyRuns& policy, std::string_view name) {
  const ServingFigure& figure = serving_figure(name);
  const auto interval = serving_interval(policy, figure);
  return interval ? figure_text(figure, interval->mean) : std::string(kNotKnown);
}

}  // namespace

std::span<const ServingFigure> serving_figures() {
  return kFigures;
}

const ServingFigure& serving_figure(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kFigures, [&](const ServingFigure& figure) { return figure.name == name; });
  SEPTULE_CHECK(found != kFigures.end(), "the figure exists");
  return *found;
}

std::string figure_text(const ServingFigure& figure, std::optional<double> value) {
  if (!value) {
    return std::string(kNotKnown);
  }
  return figure.is_share ? fixed_text(100 * *value, 2) + " %"
                         : grouped_text(*value, figure.decimals);
}

std::optional<job::Interval> serving_interval(const ServingPolicyRuns& policy,
                                              const ServingFigure& figure) {
  std::vector<double> values;
  for (const ServingRecord& run : policy.runs) {
    if (const auto value = figure.value(run)) {
      values.push_back(*value);
    }
  }
  return values.empty() ? std::nullopt : std::optional(job::confidence_interval(values));
}

std::optional<job::Interval> goodput_ratio(const ServingPolicyRuns& policy,
                                           const ServingPolicyRuns& base) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(policy.runs.size(), base.runs.size()); ++i) {
    if (base.runs[i].weighted_goodput > 0) {
      ratios.push_back(policy.runs[i].weighted_goodput / base.runs[i].weighted_goodput);
    }
  }
  return ratios.empty() ? std::nullopt : std::optional(job::confidence_interval(ratios));
}

std::string serving_comparison_text(const std::vector<ServingPolicyRuns>& policies) {
  Table table({{"POLICY"},
               {"ATTAINMENT", Align::kRight},
               {"ACCURACY", Align::kRight},
               {"GOODPUT/S", Align::kRight},
               {"95 %", Align::kRight},
               {"RATIO", Align::kRight},
               {"95 %", Align::kRight},
               {"GAP", Align::kRight},
               {"MOVES", Align::kRight},
               {"HIDDEN", Align::kRight}});
  const ServingFigure& goodput = serving_figure("goodput_rps");
  for (const ServingPolicyRuns& policy : policies) {
    const auto interval = serving_interval(policy, goodput);
    const auto against = goodput_ratio(policies.front(), policy);
    table.add_row({policy.name,
                   mean_text(policy, "attainment"),
                   mean_text(policy, "accuracy"),
                   interval ? fixed_text(interval->mean, 2) : std::string(kNotKnown),
                   interval ? bounds_text(*interval, 2) : std::string(kNotKnown),
                   against ? fixed_text(against->mean, 3) : std::string(kNotKnown),
                   against ? bounds_text(*against, 3) : std::string(kNotKnown),
                   mean_text(policy, "gap"),
                   mean_text(policy, "moves"),
                   mean_text(policy, "overhead_hidden")});
  }
  return table.text();
}

std::string serving_csv(const job::ServingRecord& run) {
  std::string out = "tenant,time_s,arrived,in_slo,capacity,goodput,forecast_rps\n";
  for (const job::ServingTenantRecord& tenant : run.tenants) {
    const std::string name = csv_cell(tenant.name);
    for (const job::ServingPoint& point : tenant.series) {
      out += fmt::format("{},{},{},{},{},{},{}\n",
                         name,
                         exact_seconds_text(point.begin - SimTime()),
                         fixed_text(point.arrived, 3),
                         fixed_text(point.in_slo, 3),
                         fixed_text(point.capacity, 3),
                         fixed_text(point.goodput, 3),
                         fixed_text(point.forecast_rps, 3));
    }
  }
  return out;
}

}  // namespace septule::report
