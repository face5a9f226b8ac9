#pragma once

#include <span>
#include <vector>

#include "serve/gpu_holding.hpp"

namespace septule::serve {

/// Which GPUs serve which tenant, and how much of its load each. Rows add up to 1 per tenant.
///
/// deal() lays the tenants, in the order given, one after the other along the GPUs: a tenant takes
/// room in proportion to its need (rate / best throughput per compute slice), so that it ends up on
/// neighbouring GPUs and each GPU has few tenants; the whole load fills all GPUs equally. Pieces
/// below kPieceMin of a GPU go to the tenant's other pieces, in proportion. A tenant with no need
/// still gets a place. Dealt anew only when some tenant's need has changed by more than
/// `change`, relative to the sum of needs per GPU: instances stay where they are otherwise. One
/// owner.
class TenantShares {
 public:
  static constexpr double kPieceMin = 0.08;

  TenantShares(const HoldingContext& context, int gpu_count, double change);

  enum class Dealt { kAsBefore, kAnew };
  /// `rates_rps` by tenant.
  Dealt deal(std::span<const double> rates_rps);
  /// Whether deal() would deal anew.
  bool is_due(std::span<const double> rates_rps) const;
  /// Takes over shares that were found otherwise for these rates.
  void take(std::vector<std::vector<double>> shares, std::span<const double> rates_rps);
  /// Share of the tenant's load on this GPU, 0..1.
  double share(int tenant, std::size_t gpu) const {
    return shares_[static_cast<std::size_t>(tenant)][gpu];
  }
  /// Tenants with a share on this GPU, ascending.
  std::vector<int> tenants_of(std::size_t gpu) const;

 private:
  double need(int tenant, double rate_rps) const;
  std::vector<double> needs_of(std::span<const double> rates_rps) const;
  void lay_out(std::span<const double> needs);
  void merge_small_pieces(std::size_t tenant, std::span<const double> room);

  HoldingContext context_;
  std::size_t gpu_count_;
  double change_;
  std::vector<std::vector<double>> shares_;  ///< by tenant, GPU
  std::vector<double> needs_;                ///< those that shares_ were dealt for
};

}  // namespace septule::serve
