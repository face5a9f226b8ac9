#include "report/study.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "base/check.hpp"
#include "report/number_text.hpp"

namespace septule::report {

namespace {

bool counts_jobs(double job::RunFigures::* figure) {
  return figure == &job::RunFigures::jobs_done || figure == &job::RunFigures::jobs_rejected;
}

/// Whether the figure of this run says anything: without a finished job all times are 0 for want of
/// a better value, and would pass for very good ones.
bool is_told(const job::RunFigures& run, double job::RunFigures::* figure) {
  return (run.jobs_done > 0 || counts_jobs(figure)) && std::isfinite(run.*figure);
}

void check_lengths(const PolicyReport& policy) {
  SEPTULE_CHECK(policy.runs.size() == policy.seeds.size(), "a policy has one seed per run");
}

job::Interval interval_of(std::span<const double> values, bool has_fixed_jobs) {
  const bool is_one =
      has_fixed_jobs && std::ranges::adjacent_find(values, std::not_equal_to()) == values.end();
  return job::confidence_interval(is_one ? values.first(1) : values);
}

}  // namespace

std::string job_name(const RepresentativeRun& run, job::JobId id) {
  const auto at = static_cast<std::size_t>(id.value());
  return id.value() >= 0 && at < run.job_names.size() ? run.job_names[at] : std::string();
}

std::string job_label(const RepresentativeRun& run, job::JobId id) {
  const std::string name = job_name(run, id);
  return name.empty() ? fmt::format("job {}", id.value())
                      : fmt::format("job {} ({})", id.value(), name);
}

std::optional<job::Interval> policy_interval(const PolicyReport& policy,
                                             double job::RunFigures::* figure) {
  check_lengths(policy);
  std::vector<double> values;
  for (const job::RunFigures& run : policy.runs) {
    if (is_told(run, figure)) {
      values.push_back(run.*figure);
    }
  }
  if (values.empty()) {
    return std::nullopt;
  }
  return interval_of(values, policy.has_fixed_jobs);
}

std::optional<job::Interval> paired_ratio(const PolicyReport& policy,
                                          const PolicyReport& base,
                                          double job::RunFigures::* figure) {
  check_lengths(policy);
  check_lengths(base);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < policy.runs.size(); ++i) {
    const auto found = std::ranges::find(base.seeds, policy.seeds[i]);
    if (found == base.seeds.end()) {
      continue;
    }
    const job::RunFigures& other = base.runs[static_cast<std::size_t>(found - base.seeds.begin())];
    const bool is_pair = is_told(policy.runs[i], figure) && is_told(other, figure);
    if (is_pair && other.*figure != 0) {
      ratios.push_back(policy.runs[i].*figure / other.*figure - 1);
    }
  }
  if (ratios.empty()) {
    return std::nullopt;
  }
  return interval_of(ratios, policy.has_fixed_jobs && base.has_fixed_jobs);
}

bool has_rejected_jobs(const StudyReport& study) {
  return std::ranges::any_of(study.policies, [](const PolicyReport& policy) {
    return std::ranges::any_of(policy.runs,
                               [](const job::RunFigures& run) { return run.jobs_rejected > 0; });
  });
}

std::string done_and_rejected_text(const PolicyReport& policy) {
  const auto done = policy_interval(policy, &job::RunFigures::jobs_done);
  const auto rejected = policy_interval(policy, &job::RunFigures::jobs_rejected);
  if (!done.has_value() || !rejected.has_value()) {
    return "N/A";
  }
  const bool is_whole =
      std::floor(done->mean) == done->mean && std::floor(rejected->mean) == rejected->mean;
  const int decimals = is_whole ? 0 : 1;
  return fmt::format(
      "{} / {}", fixed_text(done->mean, decimals), fixed_text(rejected->mean, decimals));
}

bool has_one_base(const StudyReport& study) {
  return std::ranges::all_of(study.policies,
                             [](const PolicyReport& policy) { return policy.base == 0; });
}

std::string comparison_name(const StudyReport& study, const PolicyReport& policy) {
  SEPTULE_CHECK(policy.base < study.policies.size(), "a base is a policy of the study");
  return has_one_base(study)
             ? policy.name
             : fmt::format("{} against {}", policy.name, study.policies[policy.base].name);
}

std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  if (seeds.empty()) {
    return "no seed";
  }
  if (seeds.size() == 1) {
    return fmt::format("seed {}", seeds.front());
  }
  std::vector<std::uint64_t> sorted = seeds;
  std::ranges::sort(sorted);
  std::string text = "seeds ";
  for (std::size_t from = 0; from < sorted.size();) {
    std::size_t to = from;
    while (to + 1 < sorted.size() && sorted[to + 1] == sorted[to] + 1) {
      ++to;
    }
    text += from > 0 ? ", " : "";
    text += to == from       ? fmt::format("{}", sorted[from])
            : to == from + 1 ? fmt::format("{}, {}", sorted[from], sorted[to])
                             : fmt::format("{}-{}", sorted[from], sorted[to]);
    from = to + 1;
  }
  return text;
}

}  // namespace septule::report
