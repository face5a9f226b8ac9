#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace septule::gpu {

/// How well a figure is founded. `kPartial`: name and count were seen, the fields listed beside it
/// were inferred. `kInferred`: by analogy with a sibling part.
enum class Evidence { kVerified, kPartial, kInferred };
std::string_view evidence_name(Evidence evidence);

/// A place on a GPU's placement grid. For GPU instances start and size count *memory* slices
/// (3g has size 4, 7g has size 8), never compute slices.
struct Placement {
  MemorySlices start;
  MemorySlices size;

  constexpr MemorySlices end() const { return start + size; }
  constexpr bool overlaps(const Placement& other) const {
    return start < other.end() && other.start < end();
  }
  friend constexpr auto operator<=>(const Placement&, const Placement&) = default;
};

/// A place inside a GPU instance, in compute slices.
struct ComputePlacement {
  ComputeSlices start;
  ComputeSlices size;

  constexpr ComputeSlices end() const { return start + size; }
  constexpr bool overlaps(const ComputePlacement& other) const {
    return start < other.end() && other.start < end();
  }
  friend constexpr auto operator<=>(const ComputePlacement&, const ComputePlacement&) = default;
};

/// Engines that GPU instances own and of which a GPU has a fixed budget.
enum class Engine { kDecoder, kEncoder, kJpeg, kOpticalFlow };
inline constexpr int kEngineCount = 4;
std::string_view engine_name(Engine engine);
/// One count per Engine, in enumeration order; nothing = not published.
using EngineCounts = std::array<std::optional<int>, kEngineCount>;

/// What sets two profiles of equal compute slices apart.
enum class ProfileVariant {
  kPlain,         ///< 1g.5gb
  kDoubleMemory,  ///< 1g.10gb on a 40 GB board: one compute slice with two memory slices
  kMedia,         ///< +me: with the media engines
  kGraphics,      ///< +gfx
  kAllMedia,      ///< +me.all: every media engine of the GPU
  kNoMedia,       ///< -me
};
std::string_view variant_name(ProfileVariant variant);
/// The suffix in profile names: "", "", "+me", "+gfx", "+me.all", "-me".
std::string_view variant_suffix(ProfileVariant variant);

/// A GPU-instance profile of one GPU model: a row of `nvidia-smi mig -lgip`. Names are for people:
/// they differ between driver branches, so `aliases` resolve to the same profile and ids decide.
struct GpuInstanceProfile {
  std::string name;                  ///< "3g.20gb"
  std::vector<std::string> aliases;  ///< other driver spellings of the same profile
  std::string nvml_name;             ///< "NVML_GPU_INSTANCE_PROFILE_3_SLICE"
  NvmlProfileId nvml_id;
  SmiProfileId smi_id;
  ComputeSlices slices;
  ProfileVariant variant = ProfileVariant::kPlain;
  std::optional<Bytes> memory;              ///< frame buffer of one instance
  std::vector<Bytes> memory_other_drivers;  ///< seen with other driver branches or firmware
  std::optional<int> sm_count;
  std::optional<int> copy_engine_count;
  EngineCounts engines;
  int instances_max = 0;
  bool has_peer_to_peer = false;
  std::vector<Placement> placements;  ///< possible placements, by start; all of one size
  Evidence evidence = Evidence::kInferred;
  std::vector<std::string> unverified;  ///< names of the catalogue fields that are inferred
  std::vector<std::string> sources;     ///< keys of data/gpus/sources.json
  std::string note;

  MemorySlices size() const { return placements.front().size; }
  /// Whether a catalogue field of this row was seen: false if it is listed as unverified.
  bool is_verified(std::string_view field) const;
};

/// A compute-instance profile inside GPU instances of a given number of compute slices.
struct ComputeInstanceProfile {
  ComputeSlices slices;
  NvmlProfileId nvml_id;
  SmiProfileId smi_id;
  std::optional<int> sm_count;
  int instances_max = 0;
  std::vector<ComputePlacement> placements;
};

/// A profile name taken apart: "1c.3g.20gb+me" has compute 1, gpu 3, suffix "+me". Only the form is
/// looked at; whether a GPU has it is Geometry's business.
struct ProfileNameParts {
  std::optional<ComputeSlices> compute;  ///< the "1c." in front, if any
  ComputeSlices gpu;
  std::string gpu_instance_name;  ///< the name without the "Nc." part, lower case
};
/// Accepts an optional "MIG " in front, any letter case and spaces around. Nothing if malformed.
std::optional<ProfileNameParts> parse_profile_name(std::string_view text);

}  // namespace septule::gpu
