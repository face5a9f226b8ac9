#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/units.hpp"
#include "gpu/profile.hpp"

namespace septule::predict {

/// A memory domain (gpu/sharing_template.hpp) to a co-run model. Borrowed for the call.
struct CoRunPlace {
  std::optional<ProfileIndex> profile;             ///< nothing = the whole GPU, MIG off
  std::span<const gpu::ComputePlacement> compute;  ///< empty for the whole GPU
};

/// A job that is running in the domain now.
struct CoRunClient {
  std::size_t job = 0;                        ///< index into the window
  int compute = 0;                            ///< index into CoRunPlace::compute
  std::optional<ActiveThreadPercentage> atp;  ///< see gpu::Seat
};

/// What is certain of company, whatever the jobs: for bounds that cannot look at every company.
enum class CompanyLaw {
  kUnknown,
  /// Delays add up, at least. With step = 1 / rate: in one compute instance a client's step is at
  /// least its step alone in that seat plus, for each of the others there, what that one adds when
  /// the two are alone in the domain; clients of other compute instances make nobody faster; who
  /// cannot run alone in a seat, or beside another in the same compute instance, cannot in larger
  /// company.
  kDelaysAddUp,
};

/// How fast jobs of a window run together: the one interface for measured tables, the signature
/// model, learned speeds and the simulator's truth. Not the truth unless it says so.
/// Implementations are immutable after construction; any thread.
class CoRunModel {
 public:
  CoRunModel() = default;
  CoRunModel(const CoRunModel&) = delete;
  CoRunModel& operator=(const CoRunModel&) = delete;
  virtual ~CoRunModel() = default;

  /// Jobs are numbered below.
  virtual std::size_t job_count() const = 0;
  virtual CompanyLaw company_law() const { return CompanyLaw::kUnknown; }
  /// Speed of each client relative to running alone on the whole GPU with MIG off. 0 = it cannot
  /// run there, or nothing is known of it in that company (a kernel length that default MPS would
  /// need; a combination that was not measured): whoever asks treats it as impossible. `clients`
  /// are all that run in the domain (1 to gpu::kSeatsMax), `out` has the same length. Memory
  /// amounts are the caller's business. Equal questions get equal answers, in any order of the
  /// clients. No heap.
  virtual void rates(const CoRunPlace& place,
                     std::span<const CoRunClient> clients,
                     std::span<double> out) const = 0;
  /// Whether nobody ever runs faster in company than alone in the same seat (by more than 1e-9 of
  /// it), nor runs there if it cannot alone: searches may then leave out what cannot be better.
  virtual bool only_slows() const { return false; }
};

}  // namespace septule::predict
