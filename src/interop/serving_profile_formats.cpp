// The published tables of serving profiles: their columns and their own rules.
#include "interop/serving_profile_formats.hpp"

#include <array>
#include <cstddef>
#include <optional>

#include "base/text.hpp"

namespace septule::interop {

namespace {

using Field = ProfileField;
using Format = ServingProfileFormat;
using Need = ProfileColumn::Need;

constexpr std::array kSeptuleColumns = std::to_array<ProfileColumn>({
    {"model", Field::kModel},
    {"slices", Field::kSlices},
    {"batch", Field::kBatch},
    {"throughput_rps", Field::kThroughput},
    {"latency_ms", Field::kLatency},
    {"latency_meaning", Field::kMeaning, Need::kOptional},
    {"processes", Field::kProcesses, Need::kOptional},
    {"share_percent", Field::kShare, Need::kOptional},
    {"memory_gib", Field::kMemoryGib, Need::kOptional},
    {"suspect", Field::kSuspect, Need::kOptional},
    {"gpu", Field::kGpu, Need::kOptional},
    {"source", Field::kSource, Need::kOptional},
});
constexpr std::array kParvaGpuColumns = std::to_array<ProfileColumn>({
    {"model", Field::kModel},
    {"mig_gpc", Field::kSlices},
    {"batch", Field::kBatch},
    {"mps_procs", Field::kProcesses},
    {"tput_per_proc_rps", Field::kUnused},
    {"tput_total_rps", Field::kThroughput},
    {"latency_ms", Field::kLatency},
    {"suspect", Field::kSuspect, Need::kOptional},
});
constexpr std::array kMigerColumns = std::to_array<ProfileColumn>({
    {"model", Field::kModel},
    {"mig_profile", Field::kSlices},
    {"mps_pct", Field::kShare},
    {"batch", Field::kBatch},
    {"latency_ms", Field::kLatency},
    {"throughput_rps_derived", Field::kThroughput},
    {"set", Field::kKind},
});
constexpr std::array kMigScheduleColumns = std::to_array<ProfileColumn>({
    {"model", Field::kModel},
    {"mig_profile", Field::kSlices},
    {"batch", Field::kBatch},
    {"avg_latency_ms", Field::kLatency},
    {"tail_latency_ms", Field::kUnused},
    {"throughput_rps_derived", Field::kThroughput},
});
constexpr std::array kMigPerfColumns = std::to_array<ProfileColumn>({
    {"kind", Field::kKind},
    {"model", Field::kModel},
    {"mem_label_as_published", Field::kSlices},
    {"x_axis", Field::kSource},  // read by the rule, then emptied
    {"x", Field::kBatch},
    {"throughput_per_s", Field::kThroughput},
    {"latency", Field::kLatency},
    {"gract", Field::kUnused},
    {"fb_used_mb", Field::kMemoryMib},
});
constexpr std::array kMlPerfColumns = std::to_array<ProfileColumn>({
    {"mlperf", Field::kSource},
    {"submitter", Field::kUnused},
    {"system", Field::kSlices},
    {"benchmark", Field::kModel},
    {"scenario", Field::kKind},
    {"samples_per_s", Field::kUnused},
    {"mean_ms", Field::kLatency},
    {"p50_ms", Field::kUnused},
    {"p90_ms", Field::kUnused},
    {"p99_ms", Field::kUnused},
});
constexpr std::array kGpuletColumns = std::to_array<ProfileColumn>({
    {"model", Field::kModel},
    {"batch", Field::kBatch},
    {"mps_pct", Field::kShare},
    {"throughput_rps", Field::kThroughput},
    {"batch_latency_ms_derived", Field::kLatency},
    {"dram_util_pct", Field::kUnused},
    {"l2_util_pct", Field::kUnused},
});

using Meaning = serve::LatencyMeaning;
constexpr std::string_view kA100 = "A100-80GB";
constexpr std::array<ProfileTable, 7> kTables = {{
    {Format::kParvaGpu,
     "parvagpu",
     kParvaGpuColumns,
     Meaning::kMean,
     kA100,
     "ParvaGPU (SC'24), A100-80GB",
     "latency is a batch's mean time without waiting; throughput is that of all processes"},
    {Format::kMiger,
     "miger",
     kMigerColumns,
     Meaning::kP95,
     kA100,
     "MIGER (ICPP'24), A100-80GB",
     "latency is the 95th percentile; throughput is derived from it"},
    {Format::kMigSchedule,
     "mig-schedule",
     kMigScheduleColumns,
     Meaning::kMean,
     kA100,
     "MIG_Schedule, A100-80GB",
     "latency is the mean; the tail is not used, since its percentile is not stated"},
    {Format::kMigPerf,
     "migperf",
     kMigPerfColumns,
     Meaning::kUnstated,
     "A100-40GB",
     "MIGPerf, A100",
     "what the latency is a quantile of is not stated; slices follow from the memory of a 40 GB "
     "A100, which is inferred"},
    {Format::kMlPerf,
     "mlperf",
     kMlPerfColumns,
     Meaning::kMean,
     "",
     "MLPerf inference",
     "SingleStream rows only: batch 1, throughput = 1 / mean latency"},
    {Format::kGpulet,
     "gpulet",
     kGpuletColumns,
     Meaning::kMean,
     "",
     "gpulet re-implementation",
     "measured on a whole GPU without MIG, which is taken for 7g; latency is the mean"},
    {Format::kSeptule, "septule", kSeptuleColumns, Meaning::kUnstated, "", "", ""},
}};

constexpr std::array<OtherTable, 8> kOthers = {{
    {"model_1", "model_2", "pairs of models that share an instance, not one model's profile"},
    {"corunner", "", "models beside a co-runner, not one model's profile"},
    {"slo_set", "request_rate_rps", "tenants with rates and SLOs; give it as the tenants file"},
    {"slo_set", "mig_start_slice", "deployments, not a profile"},
    {"iter_mean_ms", "", "training speeds, not a profile of serving"},
    {"job", "gract", "counters of training runs, not a profile of serving"},
    {"cpu_cores",
     "gpu_pct",
     "INFless's shares of CPU and GPU, which no instance has; write the rows you trust in "
     "Septule's own form"},
    {"gpu_latency_ms",
     "sm_clock_mhz",
     "iGniter's profile of a V100, which cannot be cut; write the rows you trust in Septule's own "
     "form"},
}};

std::string_view& cell_of(ProfileCells& cells, Field field) {
  return cells[static_cast<std::size_t>(field)];
}

bool is_zero(std::string_view text) {
  return parse_number(text) == 0.0;
}

constexpr std::string_view kWithoutMig = "measured on a whole GPU with MIG off";

ProfileRowUse use_of_migperf(ProfileCells& cells) {
  if (cell_of(cells, Field::kKind) != "infer") {
    return {.left_out = "training, not serving"};
  }
  if (std::string_view& axis = cell_of(cells, Field::kSource); axis == "batch") {
    axis = {};
  } else {
    return {.left_out = "over the length of sequences, whose batch is not stated"};
  }
  if (is_zero(cell_of(cells, Field::kThroughput))) {
    return {.left_out = "out of memory"};
  }
  struct Label {
    std::string_view memory;
    std::string_view slices;
  };
  constexpr std::array<Label, 4> kLabels = {
      {{"5g", "1"}, {"10g", "2"}, {"20g", "3"}, {"40g", "7"}}};
  std::string_view& slices = cell_of(cells, Field::kSlices);
  for (const Label& label : kLabels) {
    if (slices == label.memory) {
      slices = label.slices;
      return {};
    }
  }
  slices = "unknown";  // refused as no number of slices
  return {};
}

ProfileRowUse use_of_mlperf(ProfileCells& cells) {
  std::string_view& system = cell_of(cells, Field::kSlices);
  if (system.find("HeteroMultiUse") != std::string_view::npos) {
    return {.left_out = "measured while the other instances ran other models"};
  }
  constexpr std::string_view kOneInstance = "MIG_1x";
  const std::size_t found = system.find(kOneInstance);
  if (found == std::string_view::npos) {
    return {.left_out = "not one MIG instance"};
  }
  if (cell_of(cells, Field::kKind) != "SingleStream") {
    return {.left_out = "not SingleStream, so the time of a batch is not published"};
  }
  struct Gpu {
    std::string_view part;
    std::string_view key;
  };
  constexpr std::array<Gpu, 3> kGpus = {
      {{"A100-SXM-80GB", "A100-80GB"}, {"A100-PCIE-80GB", "A100-80GB"}, {"A30", "A30-24GB"}}};
  for (const Gpu& gpu : kGpus) {
    if (system.find(gpu.part) != std::string_view::npos) {
      cell_of(cells, Field::kGpu) = gpu.key;
      break;
    }
  }
  system.remove_prefix(found + kOneInstance.size());
  system = system.substr(0, system.find('_'));
  cell_of(cells, Field::kBatch) = "1";
  std::string_view& round = cell_of(cells, Field::kSource);
  const int rank = round == "v1.1" ? 1 : 0;
  round = {};
  return {.rank = rank};
}

}  // namespace

std::span<const ProfileTable> profile_tables() {
  return kTables;
}

std::span<const OtherTable> other_tables() {
  return kOthers;
}

ProfileRowUse use_of_row(ServingProfileFormat format, ProfileCells& cells) {
  switch (format) {
    case Format::kMiger:
    case Format::kMigSchedule:
      if (cell_of(cells, Field::kSlices) == "none") {
        return {.left_out = kWithoutMig};
      }
      // A run without MPS says more than the sweep's point at 100 %.
      return {.rank = cell_of(cells, Field::kKind) == "single" ? 1 : 0};
    case Format::kMigPerf:
      return use_of_migperf(cells);
    case Format::kMlPerf:
      return use_of_mlperf(cells);
    case Format::kGpulet:
      cell_of(cells, Field::kSlices) = "7";
      return {};
    case Format::kSeptule:
    case Format::kParvaGpu:
      break;
  }
  return {};
}

}  // namespace septule::interop
