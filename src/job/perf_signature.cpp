#include "job/perf_signature.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/rng.hpp"
#include "base/text.hpp"
#include "job/job_data.hpp"

namespace septule::job {

namespace {

constexpr std::string_view kFormat = "septule-signatures/1";
constexpr std::string_view kStepPrefix = "step_s:";
constexpr std::string_view kFirstStepPrefix = "first_step_s:";
constexpr std::size_t kNameBytesMax = 200;
constexpr PlainTable::Range kStepRange{.min = 1e-6, .max = 1e6};
constexpr PlainTable::Range kFirstStepRange{.min = 0, .max = 1e6};
constexpr PlainTable::Range kStartRange{.min = 0, .max = 1e6};
constexpr PlainTable::Range kMemoryRange{.min = 1, .max = 4194304};  // MiB: 4 TiB
constexpr PlainTable::Range kPowerRange{.min = 0, .max = 1e5};
constexpr PlainTable::Range kPercentRange{.min = 0, .max = 100};
constexpr PlainTable::Range kKernelRange{.min = 1, .max = 1e9};
constexpr PlainTable::Range kSaturationRange{.min = 0.001, .max = 1};

// Draws for jobs without measurements (workloads.md sections 5 and 6).
constexpr std::string_view kSaturationCurve = "saturation_seren";
// The first is the default: measured training jobs, all of which fit an A100-40GB. The others were
// seen on larger cards, on which half of the jobs need more than 40 GB.
constexpr std::string_view kPresets[] = {"dl_training_a100_carma",
                                         "llm_dev_a100_80_seren",
                                         "llm_dev_a100_80_kalos",
                                         "hpc_kernels_gh200"};
constexpr double kContextGibibytes = 0.5;  // CUDA context, beyond what the curves count
/// [D] The middle of the start constants of the eight measured families.
constexpr Duration kStartOfUnmeasured = Duration::milliseconds(8000);

/// Columns of a profile: where its step times stand.
struct ProfileColumns {
  std::string profile;
  std::size_t step = 0;
  std::optional<std::size_t> first_step;
};

/// Reads a PlainTable into signatures. One use.
class SignatureReader {
 public:
  explicit SignatureReader(const PlainTable& table) : table_(table) {}

  Result<std::vector<PerfSignature>> read() {
    SEPTULE_TRY_STATUS(read_headings());
    std::vector<PerfSignature> signatures;
    std::set<std::string_view> names;
    for (const PlainRow& row : table_.rows()) {
      SEPTULE_TRY(PerfSignature signature, read_signature(row));
      if (!names.insert(row.cells[name_]).second) {
        return wrong(row,
                     name_,
                     fmt::format("{} stands twice; expected each name once",
                                 quoted_for_message(signature.name)));
      }
      signatures.push_back(std::move(signature));
    }
    if (signatures.empty()) {
      return table_.error({.line = table_.heading_line(), .column = {}},
                          "no signatures below the heading; expected a row each");
    }
    return signatures;
  }

 private:
  Error wrong(const PlainRow& row, std::size_t column, std::string_view what) const {
    return table_.error({.line = row.line, .column = table_.headings()[column]}, what);
  }

  Status read_headings() {
    const auto name = table_.column("name");
    if (!name.has_value()) {
      return table_.error({.line = table_.heading_line(), .column = {}},
                          "no column name; expected name, family and step_s:PROFILE or saturation");
    }
    name_ = *name;
    const std::vector<std::string_view>& headings = table_.headings();
    for (std::size_t i = 0; i < headings.size(); ++i) {
      SEPTULE_TRY_STATUS(read_heading(headings[i], i));
    }
    if (!profiles_.empty() && table_.fact("gpu").empty()) {
      return table_.error({.line = table_.heading_line(), .column = {}},
                          "step times of an unknown GPU; expected a line \"# gpu: MODEL\" above");
    }
    if (profiles_.empty() && !column("saturation").has_value()) {
      return table_.error({.line = table_.heading_line(), .column = {}},
                          "neither step times nor saturation; expected columns step_s:PROFILE or "
                          "saturation");
    }
    return {};
  }

  Status read_heading(std::string_view heading, std::size_t index) {
    static constexpr std::string_view kKnown[] = {"name",
                                                  "family",
                                                  "start_s",
                                                  "memory_mib",
                                                  "power_w",
                                                  "sm_percent",
                                                  "memory_percent",
                                                  "kernels",
                                                  "saturation",
                                                  "bound"};
    if (std::find(std::begin(kKnown), std::end(kKnown), heading) != std::end(kKnown)) {
      return {};
    }
    if (heading.starts_with(kStepPrefix) && heading.size() > kStepPrefix.size()) {
      const std::string profile(heading.substr(kStepPrefix.size()));
      profiles_.push_back({.profile = profile,
                           .step = index,
                           .first_step = column(fmt::format("{}{}", kFirstStepPrefix, profile))});
      return {};
    }
    if (heading.starts_with(kFirstStepPrefix) &&
        column(fmt::format("{}{}", kStepPrefix, heading.substr(kFirstStepPrefix.size())))) {
      return {};
    }
    return table_.error({.line = table_.heading_line(), .column = heading},
                        fmt::format("unknown; expected {}, step_s:PROFILE or first_step_s:PROFILE "
                                    "beside its step_s:PROFILE",
                                    fmt::join(kKnown, ", ")));
  }

  std::optional<std::size_t> column(std::string_view heading) const {
    return table_.column(heading);
  }
  Result<std::optional<double>> optional_number(const PlainRow& row,
                                                std::string_view heading,
                                                const PlainTable::Range& range) const {
    const auto index = column(heading);
    if (!index.has_value()) {
      return std::optional<double>();
    }
    return table_.number(row, *index, range);
  }

  Result<PerfSignature> read_signature(const PlainRow& row) const {
    PerfSignature signature;
    signature.name = row.cells[name_];
    if (signature.name.empty() || signature.name.size() > kNameBytesMax) {
      return wrong(row, name_, fmt::format("expected a name of 1 to {} bytes", kNameBytesMax));
    }
    if (const auto family = column("family"); family.has_value()) {
      signature.family = row.cells[*family];
      if (signature.family.size() > kNameBytesMax) {
        return wrong(row, *family, fmt::format("expected at most {} bytes", kNameBytesMax));
      }
    }
    SEPTULE_TRY(const auto start, optional_number(row, "start_s", kStartRange));
    signature.start = start.has_value() ? seconds_to_duration(*start) : kStartOfUnmeasured;
    SEPTULE_TRY(const auto memory, optional_number(row, "memory_mib", kMemoryRange));
    if (memory.has_value()) {
      signature.memory = Bytes(static_cast<std::uint64_t>(std::llround(*memory * 1048576.0)));
    }
    SEPTULE_TRY(signature.power_watts, optional_number(row, "power_w", kPowerRange));
    SEPTULE_TRY(signature.sm_percent, optional_number(row, "sm_percent", kPercentRange));
    SEPTULE_TRY(signature.memory_percent, optional_number(row, "memory_percent", kPercentRange));
    if (const auto kernels = column("kernels"); kernels && !row.cells[*kernels].empty()) {
      SEPTULE_TRY(signature.kernel_count, table_.required_integer(row, *kernels, kKernelRange));
    }
    SEPTULE_TRY_STATUS(read_times(row, signature));
    SEPTULE_TRY_STATUS(read_synthetic(row, signature));
    if (signature.times.empty() && !signature.synthetic.has_value()) {
      return wrong(row,
                   name_,
                   fmt::format("{} has neither step times nor a saturation; expected one of them",
                               quoted_for_message(signature.name)));
    }
    return signature;
  }

  Status read_times(const PlainRow& row, PerfSignature& signature) const {
    for (const ProfileColumns& columns : profiles_) {
      SEPTULE_TRY(const auto step, table_.number(row, columns.step, kStepRange));
      std::optional<double> first;
      if (columns.first_step.has_value()) {
        SEPTULE_TRY(first, table_.number(row, *columns.first_step, kFirstStepRange));
      }
      if (!step.has_value() && first.has_value()) {
        return wrong(row, columns.step, "empty, but there is a first step; expected both or none");
      }
      if (!step.has_value()) {
        continue;
      }
      if (signature.times.empty() && columns.step != profiles_.front().step) {
        return wrong(row,
                     profiles_.front().step,
                     "empty; expected a time on the first profile, which is the whole GPU");
      }
      signature.times.push_back({.profile = columns.profile,
                                 .step = seconds_to_duration(*step),
                                 .first_step = seconds_to_duration(first.value_or(0))});
    }
    if (!signature.times.empty()) {
      signature.gpu_key = table_.fact("gpu");
    }
    return {};
  }

  Status read_synthetic(const PlainRow& row, PerfSignature& signature) const {
    SEPTULE_TRY(const auto saturation, optional_number(row, "saturation", kSaturationRange));
    const auto bound = column("bound");
    const std::string_view bound_text = bound.has_value() ? row.cells[*bound] : "";
    if (!saturation.has_value()) {
      return bound_text.empty()
                 ? Status()
                 : Status(wrong(row, bound.value_or(0), "given without a saturation"));
    }
    if (!signature.times.empty()) {
      return wrong(
          row, column("saturation").value_or(0), "given beside step times; expected one of them");
    }
    if (bound.has_value() && bound_text != "compute" && bound_text != "memory") {
      return wrong(row,
                   *bound,
                   fmt::format("{} is neither compute nor memory", quoted_for_message(bound_text)));
    }
    signature.synthetic = {.saturation = *saturation,
                           .bound = bound_text == "memory" ? Bound::kMemory : Bound::kCompute};
    return {};
  }

  const PlainTable& table_;
  std::size_t name_ = 0;
  std::vector<ProfileColumns> profiles_;
};

}  // namespace

std::vector<PerfSignature> builtin_signatures() {
  Result<std::vector<PerfSignature>> signatures =
      parse_signatures(job_data_text("miso_a100_40gb.csv"), "miso_a100_40gb.csv");
  SEPTULE_CHECK(signatures.has_value(), "the built-in signatures parse");
  return std::move(signatures).value();
}

Result<std::vector<PerfSignature>> parse_signatures(std::string_view text,
                                                    std::string_view source_name) {
  SEPTULE_TRY(
      const PlainTable table,
      PlainTable::parse(
          text, {.source_name = source_name, .format = kFormat, .rows_max = kSignaturesMax}));
  return SignatureReader(table).read();
}

PerfSignature draw_signature(std::string_view job_name,
                             std::optional<Bytes> known_memory,
                             const DrawOptions& options) {
  SEPTULE_CHECK(options.compute_bound_share >= 0 && options.compute_bound_share <= 1,
                "the share of compute-bound jobs lies between 0 and 1");
  Rng rng = Rng(options.seed).stream("signatures").stream(job_name);
  // Always three draws in this order, so that a known memory changes nothing else.
  const double memory_draw = rng.uniform();
  const double saturation_draw = rng.uniform();
  const double bound_draw = rng.uniform();
  PerfSignature signature;
  signature.name = job_name;
  signature.start = kStartOfUnmeasured;
  const double gibibytes =
      curve_value(curve(options.memory_preset), memory_draw) + kContextGibibytes;
  signature.memory =
      known_memory.value_or(Bytes(static_cast<std::uint64_t>(std::llround(gibibytes * 0x1p30))));
  signature.synthetic = {
      .saturation = curve_value(curve(kSaturationCurve), saturation_draw),
      .bound = bound_draw < options.compute_bound_share ? Bound::kCompute : Bound::kMemory};
  return signature;
}

std::vector<std::string> memory_preset_names() {
  return {std::begin(kPresets), std::end(kPresets)};
}

}  // namespace septule::job
