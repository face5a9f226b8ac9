#include "predict/mps_model.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace septule::predict {
namespace {

double part_of(ActiveThreadPercentage atp) {
  return static_cast<double>(atp.value()) / 100;
}

/// Each runs within its own cap.
void run_capped(double share, std::span<const SharingJob> jobs, std::span<double> out) {
  double caps = 0;
  for (const SharingJob& job : jobs) {
    caps += part_of(job.atp);
  }
  std::array<PartedClient, kMpsClientsMax> parted{};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ScalingFit& fit = jobs[i].curve->fit;
    const double part = capped_part(part_of(jobs[i].atp), caps);
    parted[i] = {.part = part, .serial = fit.serial * fit.speed_at(part * share), .memory = 0};
  }
  parted_rates({parted.data(), jobs.size()}, kPartContention, out);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    out[i] *= jobs[i].curve->at(parted[i].part * share);
  }
}

/// Without percentages: `out` gets speeds relative to the whole GPU.
void run_by_kernels(double share,
                    double exponent,
                    std::span<const SharingJob> jobs,
                    std::span<double> out) {
  std::array<double, kMpsClientsMax> alone{};  // speed alone on the instance
  std::array<InterferenceClient, kMpsClientsMax> sharing{};
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const ScalingFit& fit = jobs[i].curve->fit;
    alone[i] = jobs[i].curve->at(share);
    const double serial = fit.serial * fit.speed_at(share);
    const double step_s = jobs[i].step_s / alone[i];
    sharing[i] = {.serial = serial,
                  .busy = 1 - serial,
                  .kernel_length = (1 - serial) * step_s / jobs[i].kernels};
  }
  InterferenceModel{.exponent = exponent}.rates({sharing.data(), jobs.size()}, out);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    out[i] *= alone[i];
  }
}

}  // namespace

void MpsModel::speeds(const SpeedBook& book,
                      ProfileIndex profile,
                      std::span<const MpsClient> clients,
                      std::span<double> out) const {
  SEPTULE_CHECK(clients.size() <= kMpsClientsMax, "a daemon has at most kMpsClientsMax clients");
  const gpu::Geometry& geometry = book.geometry();
  const double share = static_cast<double>(geometry.profile(profile).slices.value()) /
                       static_cast<double>(geometry.compute_slices().value());
  std::array<SharingJob, kMpsClientsMax> jobs{};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const job::SignatureIndex signature = clients[i].signature;
    jobs[i] = {.curve = &book.curve(signature),
               .kernels = book.signature(signature).kernel_count.value_or(0),
               .step_s = book.whole_step(signature).to_seconds(),
               .atp = clients[i].atp};
  }
  speeds(share, {jobs.data(), clients.size()}, out);
}

void MpsModel::speeds(double share, std::span<const SharingJob> jobs, std::span<double> out) const {
  SEPTULE_CHECK(!jobs.empty(), "somebody runs");
  SEPTULE_CHECK(jobs.size() <= kMpsClientsMax, "a daemon has at most kMpsClientsMax clients");
  SEPTULE_CHECK(jobs.size() == out.size(), "one speed for each client");
  bool has_kernels = true;
  bool is_capped = false;
  for (const SharingJob& job : jobs) {
    SEPTULE_CHECK(job.atp.value() >= 1, "an active thread percentage is 1 to 100");
    SEPTULE_CHECK(job.atp.value() <= 100, "an active thread percentage is 1 to 100");
    has_kernels &= job.kernels > 0;
    is_capped |= job.atp.value() < 100;
  }
  if (has_kernels && is_capped) {
    run_capped(share, jobs, out);
    return;
  }
  if (has_kernels) {
    run_by_kernels(share, kernel_exponent, jobs, out);
    return;
  }
  const auto count = static_cast<double>(jobs.size());
  const double slowdown = 1 + interference * (count - 1);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double part = std::min(part_of(jobs[i].atp), 1 / count);
    out[i] = jobs[i].curve->at(part * share) / slowdown;
  }
}

}  // namespace septule::predict
