#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace septule::port {

/// Who is called when a timer fires. `payload` is whatever was given with the timer; stale timers
/// are recognised by a generation in it, not searched for and cancelled.
class TimerTarget {
 public:
  TimerTarget() = default;
  TimerTarget(const TimerTarget&) = delete;
  TimerTarget& operator=(const TimerTarget&) = delete;
  virtual ~TimerTarget() = default;
  virtual void on_timer(std::uint64_t payload) = 0;
};

/// Timers of equal time fire by class, then in the order in which they were set: the world first,
/// then the agents, then the controller, which so sees everything of an instant at once.
enum class TimerClass : std::uint8_t { kWorld, kAgent, kController };

/// Everything a core may ask of its host: the time, and to be called later. Calls back on the
/// thread that runs the Env, never from inside call_at(). One thread per Env.
class Env {
 public:
  Env() = default;
  Env(const Env&) = delete;
  Env& operator=(const Env&) = delete;
  virtual ~Env() = default;

  virtual SimTime now() const = 0;
  /// `time` in the past counts as now. `target` must outlive the timer.
  virtual void call_at(SimTime time,
                       TimerClass timer_class,
                       TimerTarget& target,
                       std::uint64_t payload) = 0;
};

}  // namespace septule::port
