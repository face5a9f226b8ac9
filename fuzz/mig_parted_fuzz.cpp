#include <vector>

#include "gpu/partition_checker.hpp"
#include "interop/mig_parted.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static int run_one(const std::uint8_t* data, std::size_t size) {
  const std::vector<interop::NodeGpu> node = {{GpuIndex(0), &fuzz::geometry("A100-40GB")},
                                              {GpuIndex(1), &fuzz::geometry("A30-24GB")}};
  const auto file = interop::parse_mig_parted({fuzz::text_of(data, size), "config.yaml"});
  if (!file) {
    fuzz::require_good(file.error());
    return 0;
  }
  fuzz::require(!file->configs.empty(), "a file has configurations");
  const auto missing = interop::find_config(*file, "\x01 no such name");
  fuzz::require(!missing, "an unknown name is not found");
  fuzz::require_good(missing.error());
  for (const interop::MigPartedConfig& config : file->configs) {
    const interop::ResolvedMigParted resolved = interop::resolve_mig_parted(config, node);
    for (const interop::MigPartedProblem& problem : resolved.problems) {
      fuzz::require_good(interop::problem_text("config.yaml", problem));
    }
    for (const std::string& note : resolved.notes) {
      fuzz::require_good(note);
    }
    for (const interop::MigPartedGpu& gpu : resolved.gpus) {
      fuzz::require(gpu::check_partition(*gpu.geometry, gpu.desired.partition).empty(),
                    "a resolved layout is legal");
    }
    if (!resolved.is_valid() || resolved.gpus.empty()) {
      continue;
    }
    const auto written = interop::write_mig_parted(config.name, resolved.desired(), node);
    const auto again = interop::parse_mig_parted({written.text, "written"});
    fuzz::require(again.has_value(), "what is written is read");
    const auto resolved_again = interop::resolve_mig_parted(again->configs.front(), node);
    fuzz::require(resolved_again.is_valid(), "and is valid");
    fuzz::require(
        interop::write_mig_parted(config.name, resolved_again.desired(), node).text == written.text,
        "and means the same");
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
