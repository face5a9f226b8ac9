#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inline_vector.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "gpu/geometry.hpp"
#include "gpu/layout.hpp"
#include "gpu/profile.hpp"

namespace septule::gpu {

/// Jobs in one memory domain, and jobs on one GPU, at most.
inline constexpr std::size_t kSeatsMax = 8;

/// Room for one job in a memory domain.
struct Seat {
  int compute = 0;  ///< index into MemoryDomain::compute (0 for the whole GPU)
  /// Limit of the MPS client, of the threads of its compute instance. Nothing = alone in its
  /// compute instance, or MPS as it is by default (several seats there, no limits).
  std::optional<ActiveThreadPercentage> atp;

  friend bool operator==(const Seat&, const Seat&) = default;
};

/// Jobs that share device memory: those of one GPU instance, or of the whole GPU with MIG off, and
/// how its SMs are divided among them. Jobs of different domains do not slow each other down; jobs
/// of different compute instances of one domain contend for memory only; jobs of one compute
/// instance share it by MPS. Seats that share a compute instance either all have an ATP (sum <=
/// 100) or none. Canonical order: seats by compute instance, then larger ATP first. A value.
struct MemoryDomain {
  std::optional<ProfileIndex> profile;  ///< nothing = the whole GPU, MIG off
  /// Compute instances of the GPU instance, by start; one full one where it is not divided. Empty
  /// for the whole GPU.
  InlineVector<ComputePlacement, kSeatsMax> compute;
  InlineVector<Seat, kSeatsMax> seats;  ///< 1 or more
};

/// Kinds of templates (hierarchical.md 1.3).
enum class SharingFamily {
  kTimeSharing,    ///< one job on the whole GPU, MIG off
  kMpsOnly,        ///< MIG off, MPS clients
  kMigPrivate,     ///< one GPU instance for each job
  kMigShared,      ///< one GPU instance of the whole GPU, a compute instance for each job
  kMigMpsPrivate,  ///< GPU instances, MPS inside one or more of them
  kMigMpsShared,   ///< one GPU instance of the whole GPU, MPS inside compute instances
};
inline constexpr int kSharingFamilyCount = 6;
std::string_view sharing_family_name(SharingFamily family);

/// How one GPU is cut and shared: a partition with room for `concurrency` jobs. A value.
struct SharingTemplate {
  /// "full", "mps(50,50)", "mps{3}", "4g{2}+3g(25,75)", "7g[4c{2}+3c]": unique in its catalogue.
  std::string name;
  SharingFamily family = SharingFamily::kTimeSharing;
  Layout layout;  ///< canonical; empty with MIG off
  /// Indices into SharingCatalogue::domains: one for each instance of `layout`, or the one of the
  /// whole GPU.
  InlineVector<std::size_t, kSeatsMax> domains;
  int concurrency = 1;  ///< seats of all domains
};

/// All templates of one GPU model, and the memory domains they are made of, each once (so that the
/// time of a set of jobs in a domain is worked out once). Immutable; any thread. `geometry`
/// outlives it.
struct SharingCatalogue {
  const Geometry* geometry = nullptr;
  std::vector<MemoryDomain> domains;
  std::vector<SharingTemplate> templates;  ///< by concurrency, then family, then as enumerated
};

/// Which templates are wanted.
struct SharingOptions {
  int concurrency_max = 4;  ///< 1 to 7; beyond 4 without MPS only
  /// ATPs that a client may be given, ascending; the seats of a compute instance take combinations
  /// that add up to 100 or less and leave less than the smallest of them unused. Empty = default
  /// MPS only.
  std::vector<ActiveThreadPercentage> percentages = {
      ActiveThreadPercentage(25), ActiveThreadPercentage(50), ActiveThreadPercentage(75)};
  enum class DefaultMps { kOffered, kNotOffered };
  DefaultMps default_mps = DefaultMps::kOffered;
  std::vector<SharingFamily> families;  ///< empty = all
};
/// kInvalidInput, naming the option and the value; kBlocked for a GPU without a profile table.
/// Layouts are multisets of plain profiles placed once (mirrored twins are the same template).
Result<SharingCatalogue> make_sharing_catalogue(const Geometry& geometry,
                                                const SharingOptions& options);

}  // namespace septule::gpu
