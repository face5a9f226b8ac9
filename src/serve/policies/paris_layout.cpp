#include "serve/policies/paris_layout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "base/check.hpp"
#include "serve/policies/baseline_parts.hpp"

namespace septule::serve {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Throughput at the largest profiled batch that is not greater; the smallest profiled one else.
double throughput_at(const BatchCurve& curve, int batch) {
  const auto above = std::ranges::upper_bound(curve, batch, {}, &std::pair<int, double>::first);
  return above == curve.begin() ? curve.front().second : (above - 1)->second;
}

/// Tries every way to give instances to tenants, size by size.
class LayoutChoice {
 public:
  LayoutChoice(const LayoutLattice& lattice, std::span<const ParisTenant> tenants)
      : lattice_(lattice), tenants_(tenants), counts_(tenants.size()) {
    best_.counts.resize(tenants.size());
  }

  void try_multiset(const SizeTable<int>& multiset) {
    idle_ = lattice_.geometry().memory_slices().value();
    for (std::size_t size = 0; size < lattice_.sizes().size(); ++size) {
      idle_ -= multiset[size] * lattice_.sizes()[size].span.value();
    }
    give(multiset, 0, 0, multiset[0]);
  }
  ParisLayout result() const { return best_; }

 private:
  using Score = std::tuple<double, double, double, int>;

  /// Gives `left` instances of `size` to `tenant` and those after it, then the sizes after it.
  void give(const SizeTable<int>& multiset, std::size_t size, std::size_t tenant, int left) {
    if (size == lattice_.sizes().size()) {
      judge();
      return;
    }
    if (tenant + 1 == tenants_.size()) {
      counts_[tenant][size] = left;
      const std::size_t next = size + 1;
      give(multiset, next, 0, next < kSizesMax ? multiset[next] : 0);
      return;
    }
    for (int taken = left; taken >= 0; --taken) {
      counts_[tenant][size] = taken;
      give(multiset, size, tenant + 1, left - taken);
    }
  }

  void judge() {
    double covered = kInfinity;
    double installed = kInfinity;
    for (std::size_t m = 0; m < tenants_.size(); ++m) {
      double rate = 0;
      for (std::size_t size = 0; size < lattice_.sizes().size(); ++size) {
        rate += counts_[m][size] * tenants_[m].rate_rps[size];
        if (tenants_[m].need[size] > 0) {
          installed = std::min(installed, counts_[m][size] / tenants_[m].need[size]);
        }
      }
      if (tenants_[m].expected_rps > 0) {
        covered = std::min(covered, rate / tenants_[m].expected_rps);
      }
    }
    const Score score(std::min(covered, 1.0), installed, covered, -idle_);
    if (!has_best_ || score > score_) {
      has_best_ = true;
      score_ = score;
      best_ = {counts_, covered};
    }
  }

  const LayoutLattice& lattice_;
  std::span<const ParisTenant> tenants_;
  std::vector<SizeTable<int>> counts_;
  int idle_ = 0;
  bool has_best_ = false;
  Score score_;
  ParisLayout best_;
};

}  // namespace

SizeTable<BatchCurve> batch_curves(const LayoutLattice& lattice,
                                   const Tenant& tenant,
                                   const AdmissionRule& rule) {
  SizeTable<BatchCurve> curves;
  for (std::size_t size = 0; size < lattice.sizes().size(); ++size) {
    std::map<int, double> best;
    for (const ProfileRow& row : tenant.profile.rows) {
      if (row.slices != lattice.sizes()[size].slices || row.processes > rule.processes_max ||
          row.share != ActiveThreadPercentage(100) ||
          !is_fast_enough(row.latency, tenant.slo, rule) ||
          (row.is_suspect && rule.suspect == SuspectRows::kDropped)) {
        continue;
      }
      double& throughput = best[row.batch];
      throughput = std::max(throughput, row.throughput_rps);
    }
    curves[size].assign(best.begin(), best.end());
  }
  return curves;
}

SizeTable<int> knee_batches(const SizeTable<BatchCurve>& curves, double threshold) {
  SizeTable<int> knees{};
  int least = 0;
  for (std::size_t size = 0; size < kSizesMax; ++size) {
    const BatchCurve& curve = curves[size];
    if (curve.empty()) {
      continue;
    }
    const double best =
        std::ranges::max_element(curve, {}, [](const auto& point) { return point.second; })->second;
    const auto knee = std::ranges::find_if(
        curve, [&](const auto& point) { return point.second >= threshold * best; });
    least = std::max(least, knee->first);
    knees[size] = least;
  }
  return knees;
}

BatchLoad batch_load(std::span<const double> rate_rps, double forming_s, int batch_max) {
  SEPTULE_CHECK(batch_max >= 1, "a batch holds at least one request");
  std::vector<double> load(static_cast<std::size_t>(batch_max) + 1, 0);
  for (const double rate : rate_rps) {
    const double mean = rate * forming_s;
    // Poisson weights relative to the most likely count, outwards until they vanish.
    const auto mode = static_cast<int>(mean);
    double weight_sum = 0;
    double size_sum = 0;
    std::vector<std::pair<int, double>> weights;
    const auto add = [&](int extra, double weight) {
      const int batch = std::min(1 + extra, batch_max);
      weight_sum += weight;
      size_sum += weight * batch;
      weights.emplace_back(batch, weight);
    };
    constexpr double kNegligible = 1e-9;
    double weight = 1;
    for (int extra = mode; weight > kNegligible; ++extra) {
      add(extra, weight);
      weight *= mean / (extra + 1);
    }
    weight = 1;
    for (int extra = mode; extra > 0 && weight > kNegligible; --extra) {
      weight *= extra / mean;
      add(extra - 1, weight);
    }
    for (const auto& [batch, share] : weights) {
      load[static_cast<std::size_t>(batch)] +=
          rate * share * batch / size_sum / static_cast<double>(rate_rps.size());
    }
  }
  BatchLoad result;
  for (int batch = 1; batch <= batch_max; ++batch) {
    if (load[static_cast<std::size_t>(batch)] > 0) {
      result.emplace_back(batch, load[static_cast<std::size_t>(batch)]);
    }
  }
  return result;
}

SizeTable<double> segment_counts(const SizeTable<BatchCurve>& curves,
                                 const SizeTable<int>& knees,
                                 const BatchLoad& load) {
  SizeTable<double> need{};
  for (const auto& [batch, rate] : load) {
    std::size_t segment = kSizesMax;
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      if (curves[size].empty()) {
        continue;
      }
      segment = size;
      if (batch <= knees[size]) {
        break;
      }
    }
    if (segment < kSizesMax) {
      need[segment] += rate / throughput_at(curves[segment], batch);
    }
  }
  return need;
}

ParisLayout choose_paris_layout(const LayoutLattice& lattice,
                                std::span<const SizeTable<int>> multisets,
                                std::span<const ParisTenant> tenants) {
  SEPTULE_CHECK(!tenants.empty(), "there is a tenant");
  LayoutChoice choice(lattice, tenants);
  for (const SizeTable<int>& multiset : multisets) {
    choice.try_multiset(multiset);
  }
  return choice.result();
}

}  // namespace septule::serve
