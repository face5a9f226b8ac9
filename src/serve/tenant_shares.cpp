#include "serve/tenant_shares.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace septule::serve {

TenantShares::TenantShares(const HoldingContext& context, int gpu_count, double change)
    : context_(context),
      gpu_count_(static_cast<std::size_t>(gpu_count)),
      change_(change),
      shares_(context.tenants.size(), std::vector<double>(gpu_count_, 0.0)) {}

double TenantShares::need(int tenant, double rate_rps) const {
  const auto& admitted = context_.tenants[static_cast<std::size_t>(tenant)];
  double best = 0;
  for (std::size_t s = 0; s < context_.lattice->sizes().size(); ++s) {
    best = std::max(
        best,
        admitted.throughput_rps(static_cast<int>(s)) / context_.lattice->sizes()[s].slices.value());
  }
  return best > 0 ? rate_rps / best : 0;
}

std::vector<double> TenantShares::needs_of(std::span<const double> rates_rps) const {
  std::vector<double> needs;
  for (std::size_t m = 0; m < rates_rps.size(); ++m) {
    needs.push_back(need(static_cast<int>(m), rates_rps[m]));
  }
  return needs;
}

bool TenantShares::is_due(std::span<const double> rates_rps) const {
  const std::vector<double> needs = needs_of(rates_rps);
  const double per_gpu =
      std::accumulate(needs.begin(), needs.end(), 0.0) / static_cast<double>(gpu_count_);
  if (needs_.size() != needs.size()) {
    return true;
  }
  bool is_same = true;
  for (std::size_t m = 0; m < needs.size(); ++m) {
    is_same = is_same && (gpu_count_ == 1 || std::abs(needs[m] - needs_[m]) <= change_ * per_gpu);
  }
  return !is_same;
}

TenantShares::Dealt TenantShares::deal(std::span<const double> rates_rps) {
  if (!is_due(rates_rps)) {
    return Dealt::kAsBefore;
  }
  needs_ = needs_of(rates_rps);
  lay_out(needs_);
  return Dealt::kAnew;
}

void TenantShares::take(std::vector<std::vector<double>> shares,
                        std::span<const double> rates_rps) {
  shares_ = std::move(shares);
  needs_ = needs_of(rates_rps);
}

void TenantShares::lay_out(std::span<const double> needs) {
  const double total = std::accumulate(needs.begin(), needs.end(), 0.0);
  const auto gpus = static_cast<double>(gpu_count_);
  double begin = 0;  // along the row of GPUs, each of length 1
  for (std::size_t m = 0; m < needs.size(); ++m) {
    const double length =
        total > 0 ? needs[m] / total * gpus : gpus / static_cast<double>(needs.size());
    const double end = std::min(gpus, begin + length);
    std::vector<double> room(gpu_count_, 0.0);
    for (std::size_t g = 0; g < gpu_count_; ++g) {
      const auto low = static_cast<double>(g);
      room[g] = std::max(0.0, std::min(end, low + 1) - std::max(begin, low));
    }
    merge_small_pieces(m, room);
    begin = end;
    if (std::accumulate(shares_[m].begin(), shares_[m].end(), 0.0) <= 0) {
      const auto home = std::min(gpu_count_ - 1, static_cast<std::size_t>(begin));
      shares_[m][home] = 1;
    }
  }
}

void TenantShares::merge_small_pieces(std::size_t tenant, std::span<const double> room) {
  const double most = *std::ranges::max_element(room);
  double sum = 0;
  for (const double piece : room) {
    sum += piece >= std::min(kPieceMin, most) ? piece : 0;
  }
  for (std::size_t g = 0; g < room.size(); ++g) {
    const bool stays = room[g] > 0 && room[g] >= std::min(kPieceMin, most);
    shares_[tenant][g] = stays ? room[g] / sum : 0;
  }
}

std::vector<int> TenantShares::tenants_of(std::size_t gpu) const {
  std::vector<int> tenants;
  for (std::size_t m = 0; m < shares_.size(); ++m) {
    if (shares_[m][gpu] > 0) {
      tenants.push_back(static_cast<int>(m));
    }
  }
  return tenants;
}

}  // namespace septule::serve
