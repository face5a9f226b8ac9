#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"
#include "serve/tenant.hpp"

namespace septule::interop {

/// The tables in which profiles of served models have been published (docs/formats.md, "Serving
/// profile"). Each is told by its heading.
enum class ServingProfileFormat {
  kSeptule,      ///< our CSV
  kParvaGpu,     ///< ParvaGPU (SC'24): slices x batch x equal MPS processes
  kMiger,        ///< MIGER (ICPP'24): slices x MPS percentage at one batch, p95
  kMigSchedule,  ///< MIG_Schedule: slices x batch
  kMigPerf,      ///< MIGPerf: values printed on its figures
  kMlPerf,       ///< MLPerf inference results of MIG systems
  kGpulet,       ///< re-implementation of gpulet: MPS percentage x batch on a whole GPU
};
/// "parvagpu", for messages and documents; static lifetime.
std::string_view serving_profile_format_name(ServingProfileFormat format);

/// The profiles of one text. Rows of each model ascend by slices, batch, processes and share, and
/// no two are equal in all four. A plain value.
struct ServingProfiles {
  ServingProfileFormat format = ServingProfileFormat::kSeptule;
  std::string source;                       ///< name of the text, for messages
  std::vector<serve::ModelProfile> models;  ///< by first appearance
  std::vector<std::string> notes;           ///< what was converted or left out, each said once
};

/// Reads a table of profiles; what each format's latency means, how it is converted and what is
/// left out stands in docs/formats.md and, as far as rows are concerned, in `notes`. Fails with
/// kInvalidInput naming source, line and column: an unknown heading, an unreadable or impossible
/// value, two rows for one point.
Result<ServingProfiles> parse_serving_profiles(const InputText& input);

/// The profile of a model, on a GPU where several have it. Fails with kInvalidInput: no such model
/// (naming near ones), or several GPUs have it and `gpu` names none of them.
Result<const serve::ModelProfile*> find_profile(const ServingProfiles& profiles,
                                                std::string_view model,
                                                std::string_view gpu);

/// One row with the line it stands on; for readers of profiles.
struct ServingProfileRow {
  int line = 0;
  std::string model;
  std::string gpu;
  std::string source;
  serve::ProfileRow row;
};
/// Makes profiles of rows: groups by model and GPU, sorts, refuses two rows for one point.
Result<std::vector<serve::ModelProfile>> grouped_profiles(std::string_view source_name,
                                                          std::vector<ServingProfileRow> rows);

/// Compute slices out of "2", "2g" or "2g.20gb"; nothing for anything else and beyond 1 to 16.
std::optional<ComputeSlices> parse_slices(std::string_view text);

}  // namespace septule::interop
