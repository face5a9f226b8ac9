#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace septule::job {

/// One measurement of a job running alone on a GPU instance of one profile.
struct SliceTime {
  std::string profile;  ///< name in the geometry of `PerfSignature::gpu_key`: "3g.20gb"
  Duration step;        ///< mean step time without the first step; > 0
  Duration first_step;  ///< the very first step (graph build); 0 = not measured
};

/// What bounds a synthetic job (workloads.md section 6).
enum class Bound { kCompute, kMemory };

/// How a job without measurements answers to a part of a GPU: it uses at most `saturation` of the
/// compute (or of the memory bandwidth) when alone.
struct SyntheticResponse {
  double saturation = 1;  ///< in (0, 1]
  Bound bound = Bound::kCompute;
};

/// What was measured (or drawn) of a kind of job: a model with a batch size, a program with an
/// input. Never called "profile". Either `times` is filled, with one entry per profile on which the
/// job fits (the profile of the whole GPU first), or `synthetic` is set. A plain value.
struct PerfSignature {
  std::string name;     ///< "resnet:64"; what a policy remembers it by
  std::string family;   ///< "resnet"
  std::string gpu_key;  ///< model on which `times` were measured: "A100-40GB"; empty if synthetic
  std::vector<SliceTime> times;
  std::optional<SyntheticResponse> synthetic;
  /// Real process start until the first step begins, nominal costs (miso.md 6.3).
  Duration start;
  /// What the job holds on the GPU and a checkpoint writes. For measured signatures it says nothing
  /// about fits (frameworks reserve more than they need): fits follow from `times`. For synthetic
  /// ones it is the need itself. Nothing = not known.
  std::optional<Bytes> memory;
  /// What it needs where it shares memory, if that is known to be less than the profiles on which
  /// it ran suggest. Nothing = the memory of the smallest profile that it fits.
  std::optional<Bytes> need;
  std::optional<double> power_watts;  ///< alone on the whole GPU
  std::optional<double> sm_percent;   ///< utilisation alone on the whole GPU
  std::optional<double> memory_percent;
  std::optional<int> kernel_count;  ///< per iteration; enables the kernel-length MPS model
};

using SignatureIndex = StrongInteger<struct SignatureIndexTag, int>;

/// The signatures that come with Septule: the 32 training jobs of MISO (SoCC'22) on five A100-40GB
/// slices, from data/jobs/ (sources named in the file). Parsed once per call; SEPTULE_CHECKs that
/// the embedded table is valid (a test holds it).
std::vector<PerfSignature> builtin_signatures();

/// Parses the signature table format of data/jobs/ (docs/formats.md, "Signatures"). Fails with
/// kInvalidInput naming file, line and field. At most kSignaturesMax rows.
inline constexpr int kSignaturesMax = 10000;
Result<std::vector<PerfSignature>> parse_signatures(std::string_view text,
                                                    std::string_view source_name);

/// A signature drawn for a trace job without measurements, from the stream named after `job_name`,
/// so that adding a job changes no other (workloads.md sections 5, 6 and 10).
struct DrawOptions {
  std::uint64_t seed = 1;
  std::string memory_preset;       ///< one of memory_preset_names()
  double compute_bound_share = 0;  ///< share of compute-bound jobs; 0..1
};
PerfSignature draw_signature(std::string_view job_name,
                             std::optional<Bytes> known_memory,
                             const DrawOptions& options);
/// Presets of GPU memory per job: inverse distribution curves carried as figures in data/jobs/.
std::vector<std::string> memory_preset_names();

}  // namespace septule::job
