#pragma once

#include <cstdint>
#include <vector>

#include "base/digest.hpp"
#include "port/env.hpp"

namespace septule::sim {

/// The virtual clock: timers in order of (time, class, sequence); between timers nothing happens
/// and the clock jumps. Cost per timer: log of the timers pending. One thread.
class SimEnv final : public port::Env {
 public:
  SimTime now() const override { return now_; }
  void call_at(SimTime time,
               port::TimerClass timer_class,
               port::TimerTarget& target,
               std::uint64_t payload) override;

  /// Fires the next timer; false if there is none.
  bool fire_next();
  std::int64_t fired_count() const { return static_cast<std::int64_t>(fired_); }
  /// Of every timer fired: time, class, sequence and payload.
  std::uint64_t digest() const { return digest_; }
  std::size_t pending_count() const { return heap_.size(); }

 private:
  struct Timer {
    std::int64_t time = 0;
    std::uint64_t order = 0;  ///< class in the upper byte, then sequence
    port::TimerTarget* target = nullptr;
    std::uint64_t payload = 0;
  };
  static bool is_later(const Timer& a, const Timer& b) {
    return a.time != b.time ? a.time > b.time : a.order > b.order;
  }

  std::vector<Timer> heap_;
  SimTime now_;
  std::uint64_t sequence_ = 0;
  std::uint64_t fired_ = 0;
  std::uint64_t digest_ = 0xCBF29CE484222325ULL;
};

}  // namespace septule::sim
