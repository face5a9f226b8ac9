#include "predict/co_run_views.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.hpp"
#include "base/portable_math.hpp"
#include "base/rng.hpp"
#include "gpu/sharing_template.hpp"

namespace septule::predict {
namespace {

/// Compute slices of the client's compute instance; 0 for the whole GPU.
std::uint64_t size_of(const CoRunPlace& place, const CoRunClient& client) {
  const auto index = static_cast<std::size_t>(client.compute);
  return index < place.compute.size()
             ? static_cast<std::uint64_t>(place.compute[index].size.value())
             : 0;
}

std::uint64_t atp_of(const CoRunClient& client) {
  return static_cast<std::uint64_t>(client.atp.value_or(ActiveThreadPercentage(100)).value());
}

std::uint64_t profile_of(const CoRunPlace& place) {
  return place.profile.has_value() ? static_cast<std::uint64_t>(place.profile->value()) + 1 : 0;
}

/// splitmix64's mixing step: one number out of two.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t z = a * 0x9E3779B97F4A7C15ULL + b;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

double factor(std::uint64_t key, double sd) {
  return portable_exp(Rng(key).normal(0, sd));
}

/// Who is there and how, whatever the order of clients and however compute instances are numbered.
std::uint64_t company_key(const CoRunPlace& place, std::span<const CoRunClient> clients) {
  std::uint64_t sum = 0;  // a sum of mixed keys: no order
  for (const CoRunClient& client : clients) {
    std::size_t first = client.job;  // of its compute instance
    for (const CoRunClient& other : clients) {
      first = other.compute == client.compute ? std::min(first, other.job) : first;
    }
    sum += mixed(mixed(mixed(client.job, first), size_of(place, client)), atp_of(client));
  }
  return mixed(profile_of(place), sum);
}

}  // namespace

SelectedCoRun::SelectedCoRun(const CoRunModel& base, std::span<const std::size_t> jobs)
    : base_(&base), jobs_(jobs.begin(), jobs.end()) {
  for (const std::size_t job : jobs) {
    SEPTULE_CHECK(job < base.job_count(), "the other model has the job");
  }
}

void SelectedCoRun::rates(const CoRunPlace& place,
                          std::span<const CoRunClient> clients,
                          std::span<double> out) const {
  SEPTULE_CHECK(clients.size() <= gpu::kSeatsMax, "a domain has at most kSeatsMax clients");
  std::array<CoRunClient, gpu::kSeatsMax> there{};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    SEPTULE_CHECK(clients[i].job < jobs_.size(), "the window has the job");
    there[i] = clients[i];
    there[i].job = jobs_[clients[i].job];
  }
  base_->rates(place, std::span(there).first(clients.size()), out);
}

void NoisyCoRun::rates(const CoRunPlace& place,
                       std::span<const CoRunClient> clients,
                       std::span<double> out) const {
  constexpr std::uint64_t kAloneKey = 1;
  constexpr std::uint64_t kCompanyKey = 2;
  base_->rates(place, clients, out);
  const std::uint64_t company = mixed(mixed(noise_.seed, kCompanyKey), company_key(place, clients));
  for (std::size_t i = 0; i < clients.size(); ++i) {
    double alone = out[i];
    if (clients.size() > 1) {
      base_->rates(place, clients.subspan(i, 1), {&alone, 1});
    }
    if (!(out[i] > 0) || !(alone > 0)) {
      out[i] = 0;
      continue;
    }
    const bool is_reference = !place.profile.has_value() && atp_of(clients[i]) == 100;
    const double there = is_reference ? 1
                                      : factor(mixed(mixed(noise_.seed, kAloneKey),
                                                     company_key(place, clients.subspan(i, 1))),
                                               noise_.solo_sd);
    const double longer =
        clients.size() > 1
            ? alone / out[i] * factor(mixed(company, clients[i].job), noise_.co_run_sd)
            : 1;
    out[i] = alone * there / std::max(longer, 1.0);
  }
}

}  // namespace septule::predict
