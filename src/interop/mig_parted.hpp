#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/inventory.hpp"
#include "gpu/layout_request.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// A GPU of the node that a configuration is meant for. `geometry` is never null.
struct NodeGpu {
  GpuIndex index;
  const gpu::Geometry* geometry = nullptr;
};

/// Something wrong in one named configuration, with its place in the file.
struct MigPartedProblem {
  int line = 0;
  std::string field;  ///< "mig-devices/3g.20gb"
  std::string reason;
};
/// "config.yaml:12: mig-devices/3g.20gb: ..."
std::string problem_text(std::string_view source_name, const MigPartedProblem& problem);

/// `mig-devices` of one entry: a MIG device name and how many of it.
struct MigPartedDevices {
  std::string name;
  int count = 0;
  int line = 0;
};

/// One entry of a named configuration. Entries hold for the GPUs that `devices` and
/// `device-filter` both allow.
struct MigPartedEntry {
  int line = 0;
  std::optional<std::vector<GpuIndex>> devices;  ///< absent: all
  std::optional<std::vector<std::string>>
      filter_pci_ids;  ///< four lower-case hex digits; absent: every model
  bool is_mig_enabled = false;
  std::vector<MigPartedDevices> mig_devices;
  int mig_devices_line = 0;
};

struct MigPartedConfig {
  std::string name;
  int line = 0;
  std::vector<MigPartedEntry> entries;
  std::vector<MigPartedProblem> problems;  ///< of form; entries that have one are left out
};

/// A mig-parted configuration file (v1), not yet resolved against a node. A value.
struct MigPartedFile {
  std::string source_name;
  std::vector<MigPartedConfig> configs;  ///< in the order of the file, never empty

  std::vector<std::string> names() const;
};

/// What one named configuration makes of one GPU.
struct MigPartedGpu {
  gpu::DesiredGpu desired;
  const gpu::Geometry* geometry = nullptr;
  gpu::LayoutRequest request;  ///< what was asked for, without placements
  int line = 0;                ///< of the entry
};

/// A named configuration resolved against a node: the GPUs it names, or what is wrong with it.
struct ResolvedMigParted {
  std::string name;
  int line = 0;
  std::vector<MigPartedGpu> gpus;  ///< by index; GPUs that no entry names are not listed
  std::vector<MigPartedProblem> problems;
  std::vector<std::string> notes;

  bool is_valid() const { return problems.empty(); }
  std::vector<gpu::DesiredGpu> desired() const;
};

/// Parses a file. A fault of the whole file (not YAML, no `version: v1`, an unknown top field) is
/// kInvalidInput; faults inside a configuration are collected in it. Source of the format:
/// mig-parted, api/spec/v1.
Result<MigPartedFile> parse_mig_parted(const InputText& input);

/// The configuration of this name. Fails with kNotFound, listing the names there are.
Result<const MigPartedConfig*> find_config(const MigPartedFile& file, std::string_view name);

/// Resolves a configuration against a node: finds every problem, not only the first. The partition
/// of each GPU is placed on an empty GPU (gpu::place_layout_request) and thereby legal.
ResolvedMigParted resolve_mig_parted(const MigPartedConfig& config, std::span<const NodeGpu> node);

/// A mig-parted file with one configuration and what it cannot say, each said once.
struct MigPartedText {
  std::string text;
  std::vector<std::string> notes;
};

/// Writes the desired state of a node; equal GPUs share an entry. The format has no placements and
/// no GPU instances without compute instances: both are noted. Every GPU of `desired` must be in
/// `node`. A configuration name that is not plain is quoted.
MigPartedText write_mig_parted(std::string_view config_name,
                               std::span<const gpu::DesiredGpu> desired,
                               std::span<const NodeGpu> node);

}  // namespace septule::interop
