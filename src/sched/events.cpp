#include "sched/events.hpp"

#include <array>

namespace septule::sched {

std::string_view event_name(const Event& event) {
  static constexpr std::array<std::string_view, std::variant_size_v<Event>> kNames = {
      "job-submitted",
      "job-ended",
      "gpu-ready",
      "gpu-settled",
      "gpu-characterised",
      "job-speed-changed",
      "gpu-troubled",
      "woke-up"};
  return kNames[event.index()];
}

}  // namespace septule::sched
