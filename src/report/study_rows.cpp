#include "report/study_rows.hpp"

#include <algorithm>

namespace septule::report {

namespace {

std::vector<std::string> keys_of(const StudyReport& study) {
  std::vector<std::string> keys;
  for (const PolicyReport& policy : study.policies) {
    if (std::ranges::find(keys, policy_key(policy)) == keys.end()) {
      keys.push_back(policy_key(policy));
    }
  }
  return keys;
}

}  // namespace

const std::string& policy_key(const PolicyReport& policy) {
  return policy.policy.empty() ? policy.name : policy.policy;
}

int colour_index(const StudyReport& study, const PolicyReport& policy) {
  const std::vector<std::string> keys = keys_of(study);
  return static_cast<int>(std::ranges::find(keys, policy_key(policy)) - keys.begin());
}

int policy_count(const StudyReport& study) {
  return static_cast<int>(keys_of(study).size());
}

bool is_sweep(const StudyReport& study) {
  return std::ranges::any_of(study.policies, [&](const PolicyReport& policy) {
    return policy.gap != study.policies.front().gap;
  });
}

std::vector<Duration> gaps_of(const StudyReport& study) {
  std::vector<Duration> gaps;
  for (const PolicyReport& policy : study.policies) {
    if (policy.gap.has_value() && std::ranges::find(gaps, *policy.gap) == gaps.end()) {
      gaps.push_back(*policy.gap);
    }
  }
  return gaps;
}

std::vector<std::size_t> first_gap_rows(const StudyReport& study) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < study.policies.size(); ++i) {
    if (study.policies[i].gap == study.policies.front().gap) {
      rows.push_back(i);
    }
  }
  return rows;
}

std::vector<std::vector<std::size_t>> rows_by_cluster(const StudyReport& study,
                                                      const std::vector<std::size_t>& rows) {
  std::vector<std::vector<std::size_t>> parts;
  for (const std::size_t row : rows) {
    const auto part = std::ranges::find_if(parts, [&](const std::vector<std::size_t>& candidate) {
      return study.policies[candidate.front()].cluster == study.policies[row].cluster;
    });
    if (part == parts.end()) {
      parts.push_back({row});
    } else {
      part->push_back(row);
    }
  }
  return parts;
}

}  // namespace septule::report
