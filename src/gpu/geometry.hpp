#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/profile.hpp"

namespace septule::gpu {

/// Which profiles a question is about. Sets nest: plain < double < all.
enum class ProfileSet {
  kPlain,   ///< one profile per size
  kDouble,  ///< plain and the double-memory profiles
  kAll,     ///< every profile of the table (+me, +gfx, -me ...)
};
std::string_view profile_set_name(ProfileSet set);
std::optional<ProfileSet> parse_profile_set(std::string_view text);

/// Facts about a GPU model beside its profile table. Absent = not published.
struct GpuFacts {
  std::string key;                       ///< "A100-40GB"
  std::vector<std::string> board_names;  ///< "NVIDIA A100-SXM4-40GB", ...
  std::vector<std::string> pci_ids;      ///< device ids, four lower-case hex digits
  std::string pci_note;                  ///< what else tells boards of equal device id apart
  std::string architecture;
  std::string chip;
  std::string compute_capability;
  std::optional<int> memory_gb;  ///< marketing figure
  std::optional<int> sm_total;
  std::optional<int> sm_with_mig;
  std::optional<ComputeSlices> compute_slices;
  std::optional<MemorySlices> memory_slices;
  std::optional<int> instances_max;
  std::string min_driver;  ///< empty = not published
  bool toggle_needs_reset = false;
  bool mode_survives_reboot = false;
  Evidence evidence = Evidence::kInferred;
  std::vector<std::string> unverified;  ///< names of fields above that are inferred
  std::vector<std::string> sources;
  std::vector<std::string> notes;
};

/// What one GPU model can be cut into: its profiles with their possible placements, the engine
/// budgets and the compute-instance profiles. Immutable after construction; any thread may read.
/// Sources: NVIDIA MIG User Guide ("Supported MIG Profiles"), nvidia-smi transcripts (see
/// data/gpus/sources.json). On a real machine the driver decides; this is for planning without one.
class Geometry {
 public:
  struct ComputeProfiles {
    std::map<ComputeSlices, std::vector<ComputeInstanceProfile>> by_gpu_instance_slices;
    Evidence evidence = Evidence::kInferred;
    std::string note;
  };

  /// Parses one file of data/gpus/ (format: docs/formats.md, "GPU catalogue"). `source_name` is
  /// used in messages. Fails with kInvalidInput, naming the field.
  static Result<Geometry> parse(std::string_view json_text, std::string_view source_name);

  const GpuFacts& facts() const { return facts_; }
  const std::string& key() const { return facts_.key; }
  /// False for boards that support MIG but whose profile table nobody has published.
  bool has_profile_table() const { return !profiles_.empty(); }

  /// All profiles in the order of the catalogue file (by compute slices, plain before variants).
  std::span<const GpuInstanceProfile> profiles() const { return profiles_; }
  const GpuInstanceProfile& profile(ProfileIndex index) const;
  /// Members of a profile set, ascending index.
  std::vector<ProfileIndex> profiles_in(ProfileSet set) const;
  /// The profile of exactly this name or alias (any letter case); never by arithmetic on gigabytes.
  std::optional<ProfileIndex> find_profile(std::string_view name) const;
  /// The plain profile with so many compute slices.
  std::optional<ProfileIndex> plain_profile(ComputeSlices slices) const;
  /// Every name and alias, for "nearest names" in messages.
  std::vector<std::string> profile_names() const;

  MemorySlices memory_slices() const { return facts_.memory_slices.value_or(MemorySlices()); }
  ComputeSlices compute_slices() const { return facts_.compute_slices.value_or(ComputeSlices()); }
  /// Engines of the whole GPU; an absent figure means that the budget is not known and not checked.
  const EngineCounts& engine_budget() const { return engine_budget_; }

  /// Compute-instance profiles inside a GPU instance of this profile; empty if none are known.
  std::span<const ComputeInstanceProfile> compute_profiles(ProfileIndex gpu_instance_profile) const;
  const ComputeProfiles& compute_profile_table() const { return compute_profiles_; }

 private:
  friend class GeometryReader;
  Geometry() = default;

  GpuFacts facts_;
  EngineCounts engine_budget_;
  std::vector<GpuInstanceProfile> profiles_;
  ComputeProfiles compute_profiles_;
};

/// All GPU models Septule knows, in the order of the files handed over. Owns the geometries; their
/// addresses stay valid as long as the catalogue lives, also when it is moved.
class Catalogue {
 public:
  /// `files`: (file name, text) of every model file of data/gpus/.
  static Result<Catalogue> parse(
      std::span<const std::pair<std::string_view, std::string_view>> files);

  std::span<const Geometry> geometries() const { return geometries_; }
  /// The model for a key ("A100-40GB"), board name ("NVIDIA A100-SXM4-40GB", with or without
  /// "NVIDIA" unless the rest begins several keys ("H100"), any letter case) or PCI id ("0x20B0",
  /// "20b0", "10de:20b0", "0x20B010DE"). Fails with kNotFound, listing the nearest keys and how to
  /// see all.
  Result<const Geometry*> find(std::string_view name) const;
  std::vector<std::string> keys() const;

 private:
  std::vector<Geometry> geometries_;
};

/// A PCI device id out of "0x20B0", "20b0", "10de:20b0" or "0x20B010DE" (device, then NVIDIA's
/// vendor id), as four lower-case hex digits. Nothing for anything else, also for other vendors.
std::optional<std::string> parse_pci_device_id(std::string_view text);

}  // namespace septule::gpu
