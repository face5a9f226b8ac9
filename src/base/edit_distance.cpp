#include "base/edit_distance.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.hpp"

namespace septule {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

bool is_likely_meant(std::string_view text, std::string_view candidate) {
  constexpr std::size_t kCompareMax = 80;
  constexpr std::size_t kPartMin = 3;
  constexpr std::size_t kShare = 3;
  if (text.empty() || std::max(text.size(), candidate.size()) > kCompareMax) {
    return false;
  }
  const std::string wanted = lower_case(text);
  const std::string other = lower_case(candidate);
  if (wanted.size() >= kPartMin && other.find(wanted) != std::string::npos) {
    return true;
  }
  const std::size_t longer = std::max(wanted.size(), other.size());
  const std::size_t distance = edit_distance(wanted, other);
  return distance < longer && distance <= (longer + kShare - 1) / kShare;
}

}  // namespace septule
