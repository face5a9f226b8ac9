#include "interop/study_file.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::vector<OptionRecord> options = {
      {.name = "gpus", .value = "CLUSTERS"},
      {.name = "policies", .value = "NAMES"},
      {.name = "seeds", .value = "SEEDS"},
      {.name = "costs", .value = "KIND", .choices = {"nominal", "calibrated"}},
      {.name = "checkpoint-factor", .value = "X", .min = 0, .max = 1000},
      {.name = "check"}};
  const auto entries =
      interop::parse_study_file({fuzz::text_of(data, size), "study.yaml"}, options);
  if (!entries) {
    fuzz::require_good(entries.error());
    return 0;
  }
  for (const interop::StudyFileEntry& entry : *entries) {
    bool is_known = false;
    for (const OptionRecord& option : options) {
      if (option.name == entry.name) {
        is_known = true;
        fuzz::require(check_option(option, entry.text).is_ok() || option.value.empty(),
                      "a value is checked against its option");
      }
    }
    fuzz::require(is_known, "only known options are read");
    fuzz::require(entry.line > 0, "a setting has a line");
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
