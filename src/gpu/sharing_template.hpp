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
#include "gpu/partition.hpp"
#include "gpu/profile.hpp"

namespace septule::gpu {

/// Jobs in one memory domain, and jobs on one GPU, at most.
inline constexpr std::size_t kSeatsMax = 8;
/// Jobs on one GPU at most, and where MPS is part of it.
inline constexpr int kConcurrencyMax = 7;
inline constexpr int kMpsConcurrencyMax = 4;
/// Percentages that SharingOptions takes at most (steps of 5 % are 19).
inline constexpr std::size_t kPercentagesMax = 20;

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
  /// "full", "mps(50,50)", "mps{3}", "4g{2}+3g(75,25)", "7g[4c{2}+3c]": unique in its catalogue.
  /// Instances in the order of their places; {k} = k clients of MPS as it is by default, (a,b) =
  /// clients with these percentages, nothing = one job.
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
/// All templates for these options. kInvalidInput, naming the option and the value (also where the
/// options leave no template); kBlocked for a GPU without a profile table.
///
/// GPU instances are of plain profiles, in multisets that are placed once (mirrored twins are the
/// same template), the larger to the left where there is a choice. Left out are templates beside
/// which another gives every seat at least as much of everything:
/// - no MPS, private: the multisets of all maximal layouts are there, and no others. (3g+2g+1g is
///   there: its 3g stands where only a 4g could be more.)
/// - no MPS, shared: the multisets of maximal sets of compute instances, and the twin of each
///   private template (3c+3c), so that private and shared memory can be compared.
/// - with MPS: only where no other of these cuts into as many instances has, sorted, instances at
///   least as large (4g+3g stays, 3g+3g goes).
/// - every instance has a job, every compute instance of a shared one too.
/// - seats of a compute instance are not told apart: whoever assigns jobs to seats tries all
/// orders,
///   and (25,75) is (75,25).
/// Pure; cost: some microseconds for each template.
Result<SharingCatalogue> make_sharing_catalogue(const Geometry& geometry,
                                                const SharingOptions& options);

/// How the GPU is cut under a template: GPU instances with their compute instances, in canonical
/// order. Nothing = MIG off. `one` is of `catalogue`.
std::optional<Partition> partition_of(const SharingCatalogue& catalogue,
                                      const SharingTemplate& one);

/// Memory that the jobs of a domain have together: that of the GPU instance's profile; for the
/// whole GPU (nothing) that of its largest plain profile, which is a little less than what a GPU
/// with MIG off has, and nothing is published of the rest. Nothing = not published.
std::optional<Bytes> domain_memory(const Geometry& geometry, std::optional<ProfileIndex> profile);

}  // namespace septule::gpu
