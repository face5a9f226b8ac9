#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "gpu/geometry.hpp"
#include "gpu/sharing_template.hpp"
#include "plan/window.hpp"
#include "predict/co_run_model.hpp"

namespace septule::optimize::test {

/// Rates that tests choose: a job's own rate over a number that grows with the others in the
/// domain; a percentage takes its part. Deterministic and easy to work out by hand.
class PlainCoRun final : public predict::CoRunModel {
 public:
  struct Job {
    double rate = 1;      ///< alone
    double pressure = 0;  ///< on each of the others: their rate / (1 + pressure)
    bool can_share = true;
  };
  explicit PlainCoRun(std::vector<Job> jobs) : jobs_(std::move(jobs)) {}

  std::size_t job_count() const override { return jobs_.size(); }
  bool only_slows() const override {
    return std::ranges::all_of(jobs_, [](const Job& job) { return job.pressure >= 0; });
  }
  void rates(const predict::CoRunPlace& /*place*/,
             std::span<const predict::CoRunClient> clients,
             std::span<double> out) const override {
    for (std::size_t i = 0; i < clients.size(); ++i) {
      double slowdown = 1;
      bool runs = true;
      // By job, so that the order of clients changes no bit.
      for (std::size_t job = 0; job < jobs_.size(); ++job) {
        for (const predict::CoRunClient& other : clients) {
          if (other.job == job && job != clients[i].job) {
            slowdown += jobs_[job].pressure;
            runs = runs && jobs_[job].can_share && jobs_[clients[i].job].can_share;
          }
        }
      }
      const int atp = clients[i].atp.value_or(ActiveThreadPercentage(100)).value();
      out[i] = runs ? jobs_[clients[i].job].rate * atp / 100 / slowdown : 0;
    }
  }

 private:
  std::vector<Job> jobs_;
};

/// A domain with one compute instance (or the whole GPU without a profile) and seats of these
/// percentages; 0 = none.
inline gpu::MemoryDomain domain(const gpu::Geometry& geometry,
                                const std::optional<std::string>& profile,
                                std::initializer_list<int> percentages) {
  gpu::MemoryDomain out;
  if (profile.has_value()) {
    const auto index = geometry.find_profile(*profile);
    SEPTULE_CHECK(index.has_value(), "tests name known profiles");
    out.profile = *index;
    out.compute.push_back({.start = ComputeSlices(0), .size = geometry.profile(*index).slices});
  }
  for (const int atp : percentages) {
    out.seats.push_back(
        {.compute = 0,
         .atp = atp == 0 ? std::nullopt : std::optional(ActiveThreadPercentage(atp))});
  }
  return out;
}

/// The whole GPU as one instance, cut into compute instances of these sizes with so many seats
/// without percentages each.
struct ComputeSeats {
  int size = 1;
  int seats = 1;
};
inline gpu::MemoryDomain divided(ProfileIndex profile, std::initializer_list<ComputeSeats> parts) {
  gpu::MemoryDomain out;
  out.profile = profile;
  int start = 0;
  for (const ComputeSeats& part : parts) {
    for (int seat = 0; seat < part.seats; ++seat) {
      out.seats.push_back({.compute = static_cast<int>(out.compute.size()), .atp = {}});
    }
    out.compute.push_back({.start = ComputeSlices(start), .size = ComputeSlices(part.size)});
    start += part.size;
  }
  return out;
}

inline plan::WindowJob window_job(std::string name, double solo_s, int memory_gib = 1) {
  return {.name = std::move(name),
          .user = "u",
          .trust = "",
          .memory = Bytes::mebibytes(1024 * static_cast<std::uint64_t>(memory_gib)),
          .solo = seconds_to_duration(solo_s)};
}

}  // namespace septule::optimize::test
