#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving_fleet.hpp"

namespace septule::sim {

/// What warm-ups (w long) cost, in requests, and what they would have cost without
/// pre-initialisation (serving.md 2.3: overhead hidden = 1 - lost / lost in place). Counted twice.
///
/// Capacity, comparable with what papers state per reconfiguration:
///  - in place: what the newcomer yields, for w;
///  - lost: the same where somebody was stopped to make room for it, nothing where its slot was
///  free
///    or its predecessor in the same place went on (a change of share or processes).
///
/// Need, which is stricter: capacity counts only as far as its tenant lacked it.
///  - lost: in each second of w the greater of what the newcomer could have answered of its
///    tenant's shortage (arrived - capacity), and of what those stopped could have answered of
///    theirs; nothing where the predecessor went on;
///  - in place: without warming ahead the move would have been made when it was needed, which is
///    when it was ready: what its tenant would have lacked without it in the first w of its life,
///    at least what was lost. So a move made ahead of need is hidden whether its slot was free or
///    was taken from someone who did not need it; one made in answer to a shortage is not.
///
/// Retraining yields no requests, so its moves count only by whom they stopped. Warm-ups cut short
/// by the next order, or the end, count for as long as they lasted. Several newcomers of one tenant
/// share its shortage, in the order of the instances. One thread.
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
  double needed_lost() const;
  double needed_lost_in_place() const;

 private:
  struct Entry {
    ServingMove move;
    double in_place = 0;
    bool is_counted = false;  ///< in `in_place`
    double needed = 0;
    double missed_without = 0;
  };
  void count_warming(Entry& entry, const ServingMember& member, double fraction);

  std::vector<Entry> moves_;
  std::vector<double> shortage_;  ///< of the second being counted, by tenant
};

}  // namespace septule::sim
