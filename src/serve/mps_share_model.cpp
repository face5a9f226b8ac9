#include "serve/mps_share_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace septule::serve {
namespace {

using Knot = std::pair<double, double>;

/// Linear between the knots, whose abscissas ascend; constant beyond.
double interpolate(std::span<const Knot> knots, double at) {
  if (at <= knots.front().first) {
    return knots.front().second;
  }
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const auto& [x0, y0] = knots[i - 1];
    const auto& [x1, y1] = knots[i];
    if (at <= x1) {
      return y0 + (y1 - y0) * (at - x0) / (x1 - x0);
    }
  }
  return knots.back().second;
}

double kept_of(double at_20, double at_50, double share) {
  const std::array<Knot, 4> knots{{{0, 0}, {20, at_20}, {50, at_50}, {100, 1}}};
  return interpolate(knots, share);
}

const ProfileRow* find_row(const ModelProfile& profile,
                           const MpsUse& use,
                           ActiveThreadPercentage share) {
  for (const ProfileRow& row : profile.rows) {
    if (row.slices == use.slices && row.batch == use.batch && row.processes == use.processes &&
        row.share == share) {
      return &row;
    }
  }
  return nullptr;
}

/// Best throughput of the whole instance where it is full; 0 = not measured.
double full_throughput(const ModelProfile& profile, ComputeSlices slices) {
  double best = 0;
  for (const ProfileRow& row : profile.rows) {
    if (row.slices == slices && row.share == ActiveThreadPercentage(100) && !row.is_suspect &&
        row.batch * row.processes >= MpsShareModel::kFullInFlight) {
      best = std::max(best, row.throughput_rps);
    }
  }
  return best;
}

}  // namespace

MpsShareModel::MpsShareModel(double phi) : phi_(phi) {
  SEPTULE_CHECK(phi > 0, "the factor of company is above 0");
  SEPTULE_CHECK(phi <= 1, "the factor of company is at most 1");
}

double MpsShareModel::kept(ActiveThreadPercentage share, int batch) {
  SEPTULE_CHECK(batch >= 1, "a batch holds at least one request");
  const double percent = share.value();
  const std::array<Knot, 3> knots{{{0, kept_of(0.80, 0.92, percent)},
                                   {3, kept_of(0.53, 0.87, percent)},
                                   {5, kept_of(0.30, 0.66, percent)}}};
  return interpolate(knots, std::log2(static_cast<double>(batch)));
}

double MpsShareModel::factor(const MpsUse& use) const {
  return kept(use.share, use.batch) * (use.company == MpsCompany::kShared ? phi_ : 1.0);
}

std::optional<MpsYield> MpsShareModel::yield(const ModelProfile& profile, const MpsUse& use) const {
  double scale = use.company == MpsCompany::kShared ? phi_ : 1.0;
  const ProfileRow* row = find_row(profile, use, use.share);
  if (row == nullptr) {
    row = find_row(profile, use, ActiveThreadPercentage(100));
    scale = factor(use);
  }
  if (row == nullptr) {
    return std::nullopt;
  }
  const double full = full_throughput(profile, use.slices);
  if (row->share != use.share && full > 0) {
    MpsUse at_full = use;
    at_full.batch = kFullInFlight;
    scale = std::min(scale, factor(at_full) * full / row->throughput_rps);
  }
  return MpsYield{.throughput_rps = row->throughput_rps * scale,
                  .latency = scaled(row->latency, 1 / scale)};
}

double MpsShareModel::retraining_factor(ActiveThreadPercentage share, MpsCompany company) const {
  return retraining_kept(share) * (company == MpsCompany::kShared ? phi_ : 1.0);
}

double MpsShareModel::retraining_kept(ActiveThreadPercentage share) {
  static constexpr std::array<Knot, 6> kKnots{
      {{0, 0}, {1.0 / 7, 0.36}, {2.0 / 7, 0.51}, {3.0 / 7, 0.69}, {4.0 / 7, 0.75}, {1, 1}}};
  return interpolate(kKnots, share.value() / 100.0);
}

}  // namespace septule::serve
