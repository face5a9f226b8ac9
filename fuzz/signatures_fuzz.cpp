#include <set>

#include "job/cost_model.hpp"
#include "job/perf_signature.hpp"
#include "support/fuzz_support.hpp"

namespace septule {

static void check_signature(const job::PerfSignature& signature) {
  fuzz::require(!signature.name.empty(), "a signature has a name");
  fuzz::require(signature.times.empty() == signature.synthetic.has_value(),
                "a signature is either measured or synthetic");
  fuzz::require(signature.times.empty() == signature.gpu_key.empty(),
                "step times say on which GPU");
  fuzz::require(signature.start >= Duration(), "a start takes no negative time");
  std::set<std::string> profiles;
  const job::CostModel costs;
  for (const job::SliceTime& slice : signature.times) {
    fuzz::require(profiles.insert(slice.profile).second, "a profile stands once");
    fuzz::require(slice.step > Duration(), "a step takes time");
    fuzz::require(slice.first_step >= Duration(), "a first step takes no negative time");
    const Bytes held = job::footprint(signature, std::nullopt);
    fuzz::require(
        job::start_time(costs, signature, &slice, held, job::StartKind::kRestart) >= Duration(),
        "a restart takes no negative time");
    fuzz::require(job::checkpoint_time(costs, held) > Duration(), "a checkpoint takes time");
  }
  if (signature.synthetic.has_value()) {
    fuzz::require(signature.synthetic->saturation > 0 && signature.synthetic->saturation <= 1,
                  "a saturation is a part of the GPU");
  }
}

static int run_one(const std::uint8_t* data, std::size_t size) {
  const auto parsed = job::parse_signatures(fuzz::text_of(data, size), "signatures.csv");
  if (!parsed) {
    fuzz::require_good(parsed.error());
    return 0;
  }
  std::set<std::string> names;
  for (const job::PerfSignature& signature : *parsed) {
    fuzz::require(names.insert(signature.name).second, "a name stands once");
    check_signature(signature);
  }
  return 0;
}

}  // namespace septule

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return septule::run_one(data, size);
}
