#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving_fleet.hpp"

namespace septule::sim {

/// What warm-ups cost, in requests, and what they would have cost without pre-initialisation
/// (serving.md 2.3: overhead hidden = 1 - lost / lost in place). Counted is capacity that was
/// needed, so that neither an instance created in time counts as lost nor one created too late as
/// hidden.
///  - Lost to a move, while it warms up (w long): in each second the greater of what the newcomer
///    could have answered of its tenant's shortage (arrived - capacity), and of what those stopped
///    to make room could have answered of theirs. Nothing for a newcomer whose predecessor in the
///    same place goes on (a change of share or processes).
///  - Lost in place: a move for which somebody was stopped was made in place, so the same. One into
///    a free slot would have been made when it was needed, which is when it was ready: what its
///    tenant would have lacked without it in the first w of its life, at least what was lost.
/// Warm-ups cut short by the next order, or the end, count for as long as they lasted. Several
/// newcomers of one tenant share its shortage, in the order of the instances. One thread.
class WarmUpLedger {
 public:
  explicit WarmUpLedger(std::size_t tenant_count) : shortage_(tenant_count, 0) {}

  void add(std::span<const ServingMove> moves);
  /// One second of virtual time from `now`; arrivals and ready capacity of each tenant in it.
  void count_second(SimTime now,
                    std::span<const LiveInstance> instances,
                    std::span<const double> arrived,
                    std::span<const double> capacity);

  std::int64_t moves() const { return static_cast<std::int64_t>(moves_.size()); }
  std::int64_t moves_with_free_slot() const;
  double lost() const;
  double lost_in_place() const;

 private:
  struct Entry {
    ServingMove move;
    double lost = 0;
    double missed_without = 0;
  };
  void count_warming(Entry& entry, const ServingMember& member, double fraction);

  std::vector<Entry> moves_;
  std::vector<double> shortage_;  ///< of the second being counted, by tenant
};

}  // namespace septule::sim
