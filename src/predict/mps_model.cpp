#include "predict/mps_model.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"

namespace septule::predict {
namespace {

double part_of(ActiveThreadPercentage atp) {
  return static_cast<double>(atp.value()) / 100;
}

/// 0 = not known.
int kernels_of(const SpeedBook& book, job::SignatureIndex signature) {
  return book.signature(signature).kernel_count.value_or(0);
}

/// Each runs within its own cap.
void run_capped(const SpeedBook& book,
                double share,
                std::span<const MpsClient> clients,
                std::span<double> out) {
  double caps = 0;
  for (const MpsClient& client : clients) {
    caps += part_of(client.atp);
  }
  std::array<PartedClient, kMpsClientsMax> parted{};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const ScalingFit& fit = book.scaling(clients[i].signature);
    const double part = capped_part(part_of(clients[i].atp), caps);
    parted[i] = {.part = part, .serial = fit.serial * fit.speed_at(part * share), .memory = 0};
  }
  parted_rates({parted.data(), clients.size()}, kPartContention, out);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    out[i] *= book.speed_at(clients[i].signature, parted[i].part * share);
  }
}

/// Without percentages: `out` gets speeds relative to the whole GPU.
void run_by_kernels(const SpeedBook& book,
                    double share,
                    double exponent,
                    std::span<const MpsClient> clients,
                    std::span<double> out) {
  std::array<double, kMpsClientsMax> alone{};  // speed alone on the instance
  std::array<InterferenceClient, kMpsClientsMax> sharing{};
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const job::SignatureIndex signature = clients[i].signature;
    const ScalingFit& fit = book.scaling(signature);
    alone[i] = book.speed_at(signature, share);
    const double serial = fit.serial * fit.speed_at(share);
    const double step_s = book.whole_step(signature).to_seconds() / alone[i];
    sharing[i] = {.serial = serial,
                  .busy = 1 - serial,
                  .kernel_length = (1 - serial) * step_s / kernels_of(book, signature)};
  }
  InterferenceModel{.exponent = exponent}.rates({sharing.data(), clients.size()}, out);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    out[i] *= alone[i];
  }
}

}  // namespace

void MpsModel::speeds(const SpeedBook& book,
                      ProfileIndex profile,
                      std::span<const MpsClient> clients,
                      std::span<double> out) const {
  SEPTULE_CHECK(!clients.empty(), "somebody runs");
  SEPTULE_CHECK(clients.size() <= kMpsClientsMax, "a daemon has at most kMpsClientsMax clients");
  SEPTULE_CHECK(clients.size() == out.size(), "one speed for each client");
  const gpu::Geometry& geometry = book.geometry();
  const double share = static_cast<double>(geometry.profile(profile).slices.value()) /
                       static_cast<double>(geometry.compute_slices().value());
  bool has_kernels = true;
  bool is_capped = false;
  for (const MpsClient& client : clients) {
    SEPTULE_CHECK(client.atp.value() >= 1, "an active thread percentage is 1 to 100");
    SEPTULE_CHECK(client.atp.value() <= 100, "an active thread percentage is 1 to 100");
    has_kernels &= kernels_of(book, client.signature) > 0;
    is_capped |= client.atp.value() < 100;
  }
  if (has_kernels && is_capped) {
    run_capped(book, share, clients, out);
    return;
  }
  if (has_kernels) {
    run_by_kernels(book, share, kernel_exponent, clients, out);
    return;
  }
  const auto count = static_cast<double>(clients.size());
  const double slowdown = 1 + interference * (count - 1);
  for (std::size_t i = 0; i < clients.size(); ++i) {
    const double part = std::min(part_of(clients[i].atp), 1 / count);
    out[i] = book.speed_at(clients[i].signature, part * share) / slowdown;
  }
}

}  // namespace septule::predict
