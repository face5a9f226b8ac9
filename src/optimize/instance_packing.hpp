#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/work_budget.hpp"
#include "gpu/inventory.hpp"
#include "optimize/gpu_options.hpp"
#include "optimize/requested_instances.hpp"

namespace septule::optimize {

/// What is sought once as few idle instances as possible are destroyed.
enum class PackingPolicy {
  kPack,         ///< open as few unused GPUs as possible
  kSpread,       ///< the smallest largest load, then the most even loads
  kSameGpu,      ///< everything on one GPU
  kDistinctGpu,  ///< each instance on another GPU
};
std::string_view packing_policy_name(PackingPolicy policy);
/// "pack", "spread", "same-gpu", "distinct-gpu".
std::optional<PackingPolicy> parse_packing_policy(std::string_view text);

/// Search nodes before the packing stops claiming proofs; a few seconds of work.
inline constexpr std::int64_t kPackingUnitsMax = 3000000;

struct PackingProblem {
  RequestList request;
  PackingPolicy policy = PackingPolicy::kPack;
  IdleRule idle_rule = IdleRule::kMayDestroy;
};

/// Where one requested instance goes.
struct PackedInstance {
  std::size_t item = 0;  ///< index into RequestList::items
  int copy = 0;          ///< 0 .. count - 1
  GpuIndex gpu;
  gpu::GpuInstance instance;
  bool is_reused = false;  ///< an idle GPU instance stands there already
  bool is_recut = false;   ///< reused, with its compute instances cut anew
};

/// An idle instance that makes room.
struct DestroyedInstance {
  GpuIndex gpu;
  gpu::PlacedProfile placed;
  std::string text;  ///< "1g.5gb@5"
};

/// One key of the objective, the most significant first.
struct PackingKey {
  std::string name;  ///< "idle instances destroyed", "GPUs opened", ...
  std::int64_t value = 0;
  std::int64_t lower_bound = 0;  ///< given the values of the keys before it
};

/// What the optimizer vouches for.
struct PackingCertificate {
  std::vector<PackingKey> keys;
  bool is_optimal = false;  ///< proven: no other answer is less in the order of the keys
  std::int64_t work_units = 0;
};

/// An answer. `packed` by item, then copy; `desired` names only the GPUs that get instances or lose
/// idle ones, each as it should look afterwards, for plan_transition().
struct InstancePacking {
  std::vector<PackedInstance> packed;
  std::vector<DestroyedInstance> destroyed;
  std::vector<gpu::DesiredGpu> desired;
  int gpus_used = 0;    ///< GPUs that get at least one requested instance
  int gpus_opened = 0;  ///< of these, the ones where nothing was held before
  int created = 0;      ///< created or re-cut; the others are reused
  int load_max = 0;     ///< most requested instances on one GPU
  PackingCertificate certificate;
};

/// Places requested instances on the GPUs of a node, whatever is on them now. Busy and foreign
/// instances are never touched, GPUs with MIG off are not used. Order of the objective:
///   1. fewest idle instances destroyed;
///   2. pack, same-gpu, distinct-gpu: fewest GPUs opened (a GPU is open if something on it is
///   held);
///      spread: the smallest largest number of requested instances on a GPU, then the smallest sum
///      of their squares;
///   3. fewest instances created or re-cut, that is, most idle ones reused;
/// these are exact and certified. Then, as far as a share of the budget goes and without
/// certificate: least loss of the largest plain profile that still fits on a GPU. Within a GPU the
/// places leave the largest profiles placeable; then canonical order; equal GPUs by index.
/// On fresh GPUs this is the fewest GPUs. Fails with kBlocked, saying what limits; with kTimedOut
/// if the work budget ends before anything is found; with kInvalidInput for an empty GPU list.
Result<InstancePacking> pack_instances(const gpu::Inventory& inventory,
                                       const PackingProblem& problem,
                                       WorkBudget& budget);

}  // namespace septule::optimize
