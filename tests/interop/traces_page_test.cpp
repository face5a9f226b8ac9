// docs/traces.md against the built-in signatures.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "job/perf_signature.hpp"
#include "support/read_file.hpp"

namespace septule::interop {
namespace {

/// Names in the rows "| Model | `name`, ... |" of the page.
std::vector<std::string> documented_signatures() {
  const std::string page = test::read_file(std::string(SEPTULE_SOURCE_DIR) + "/docs/traces.md");
  std::vector<std::string> names;
  bool is_in_table = false;
  for (const std::string_view whole : split_lines(page)) {
    const std::string_view line = trimmed(whole);
    is_in_table = line == "| model | names |" || (is_in_table && line.starts_with('|'));
    std::size_t from = is_in_table ? line.find('`') : std::string_view::npos;
    while (from != std::string_view::npos) {
      const std::size_t end = line.find('`', from + 1);
      if (end == std::string_view::npos) {
        break;
      }
      names.emplace_back(line.substr(from + 1, end - from - 1));
      from = line.find('`', end + 1);
    }
  }
  return names;
}

TEST(TracesPage, Signatures_AreTheBuiltInOnes) {
  // A name that the page lacks, and one that nobody knows, both fail.
  std::vector<std::string> known;
  for (const job::PerfSignature& signature : job::builtin_signatures()) {
    known.push_back(signature.name);
  }
  EXPECT_THAT(documented_signatures(), ::testing::UnorderedElementsAreArray(known));
}

}  // namespace
}  // namespace septule::interop
