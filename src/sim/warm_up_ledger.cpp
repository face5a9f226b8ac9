#include "sim/warm_up_ledger.hpp"

#include <algorithm>
#include <utility>

namespace septule::sim {
namespace {

constexpr Duration kSecond = Duration::milliseconds(1000);

}  // namespace

void WarmUpLedger::add(std::span<const ServingMove> moves) {
  for (const ServingMove& move : moves) {
    moves_.push_back({.move = move});
  }
}

void WarmUpLedger::count_warming(Entry& entry, const ServingMember& member, double fraction) {
  double& own = shortage_[static_cast<std::size_t>(entry.move.tenant)];
  const double gain = std::min(member.capacity_rps * fraction, own);
  double taken = 0;
  for (const auto& [tenant, capacity_rps] : entry.move.stopped) {
    taken += std::min(capacity_rps * fraction, shortage_[static_cast<std::size_t>(tenant)]);
  }
  own -= gain;
  entry.needed += std::max(gain, taken);
  entry.in_place += member.capacity_rps * fraction;
  entry.is_counted = true;
}

void WarmUpLedger::count_second(SimTime now,
                                std::span<const LiveInstance> instances,
                                std::span<const double> arrived,
                                std::span<const double> capacity) {
  for (std::size_t i = 0; i < shortage_.size(); ++i) {
    shortage_[i] = std::max(0.0, arrived[i] - capacity[i]);
  }
  for (const LiveInstance& instance : instances) {
    for (const ServingMember& member : instance.members) {
      if (member.move < 0) {
        continue;
      }
      Entry& entry = moves_[static_cast<std::size_t>(member.move)];
      const Duration length = entry.move.ready - entry.move.begin;
      if (member.ready > now) {
        const Duration warming = std::min(member.ready - now, kSecond);
        count_warming(entry, member, warming.to_seconds());
      } else if (now < member.ready + length) {
        if (!std::exchange(entry.is_counted, true)) {
          entry.in_place += member.capacity_rps * length.to_seconds();
        }
        const auto tenant = static_cast<std::size_t>(entry.move.tenant);
        const Duration counted = std::min(member.ready + length - now, kSecond);
        const double missed = arrived[tenant] - (capacity[tenant] - member.capacity_rps);
        entry.missed_without += std::clamp(missed, 0.0, member.capacity_rps) * counted.to_seconds();
      }
    }
  }
}

std::int64_t WarmUpLedger::moves_with_free_slot() const {
  return std::count_if(
      moves_.begin(), moves_.end(), [](const Entry& e) { return e.move.has_free_slot; });
}

double WarmUpLedger::lost() const {
  double sum = 0;
  for (const Entry& entry : moves_) {
    sum += entry.move.has_free_slot ? 0 : entry.in_place;
  }
  return sum;
}

double WarmUpLedger::lost_in_place() const {
  double sum = 0;
  for (const Entry& entry : moves_) {
    sum += entry.in_place;
  }
  return sum;
}

double WarmUpLedger::needed_lost() const {
  double sum = 0;
  for (const Entry& entry : moves_) {
    sum += entry.needed;
  }
  return sum;
}

double WarmUpLedger::needed_lost_in_place() const {
  double sum = 0;
  for (const Entry& entry : moves_) {
    sum += std::max(entry.needed, entry.missed_without);
  }
  return sum;
}

}  // namespace septule::sim
