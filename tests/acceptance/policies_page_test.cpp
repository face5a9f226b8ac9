// docs/policies.md against the registry.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "sched/policy_registry.hpp"
#include "support/read_file.hpp"

namespace septule::test {
namespace {

/// Headings "### `name`" of the page, in order.
std::vector<std::string> documented_policies() {
  const std::string page = read_file(std::string(SEPTULE_SOURCE_DIR) + "/docs/policies.md");
  constexpr std::string_view kBegin = "### `";
  std::vector<std::string> names;
  for (const std::string_view line : split_lines(page)) {
    if (line.starts_with(kBegin) && line.ends_with('`')) {
      names.emplace_back(line.substr(kBegin.size(), line.size() - kBegin.size() - 1));
    }
  }
  return names;
}

TEST(PoliciesPage, Sections_AreTheRegisteredPoliciesInOrder) {
  // A policy without a section, a section without a policy and another order all fail.
  std::vector<std::string> registered;
  for (const sched::PolicyVariant& policy : sched::policy_variants()) {
    registered.emplace_back(policy.name);
  }
  EXPECT_THAT(documented_policies(), ::testing::ElementsAreArray(registered));
}

}  // namespace
}  // namespace septule::test
