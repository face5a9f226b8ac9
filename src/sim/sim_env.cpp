#include "sim/sim_env.hpp"

#include <algorithm>

namespace septule::sim {

namespace {
constexpr unsigned kClassShift = 56;

/// Mixes a word into a digest (the finaliser of splitmix64 over a running value).
std::uint64_t mixed(std::uint64_t digest, std::uint64_t word) {
  std::uint64_t x = (digest ^ word) * 0x9E3779B97F4A7C15ULL;
  x ^= x >> 32U;
  x *= 0xD6E8FEB86659FD93ULL;
  return x ^ (x >> 32U);
}
}  // namespace

void SimEnv::call_at(SimTime time,
                     port::TimerClass timer_class,
                     port::TimerTarget& target,
                     std::uint64_t payload) {
  const std::uint64_t order =
      (static_cast<std::uint64_t>(timer_class) << kClassShift) | sequence_++;
  heap_.push_back(Timer{std::max(time, now_).to_nanoseconds(), order, &target, payload});
  std::push_heap(heap_.begin(), heap_.end(), is_later);
}

bool SimEnv::fire_next() {
  if (heap_.empty()) {
    return false;
  }
  std::pop_heap(heap_.begin(), heap_.end(), is_later);
  const Timer timer = heap_.back();
  heap_.pop_back();
  now_ = SimTime::nanoseconds(timer.time);
  ++fired_;
  digest_ = mixed(mixed(digest_, static_cast<std::uint64_t>(timer.time)), timer.order);
  digest_ = mixed(digest_, timer.payload);
  timer.target->on_timer(timer.payload);
  return true;
}

}  // namespace septule::sim
