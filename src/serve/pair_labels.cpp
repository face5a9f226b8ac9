#include "serve/pair_labels.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/clock.hpp"

namespace septule::serve {

namespace {

/// The tenant with rows as they are at this share of an instance's threads, in company.
Tenant thinned(const Tenant& tenant, ActiveThreadPercentage share, const MpsShareModel& model) {
  Tenant out = tenant;
  // What it may retrain is judged where it stands alone.
  out.retraining.reset();
  std::vector<ProfileRow> rows;
  for (const ProfileRow& row : tenant.profile.rows) {
    if (row.share != ActiveThreadPercentage(100)) {
      continue;
    }
    const double factor = model.factor({.slices = row.slices,
                                        .batch = row.batch,
                                        .processes = row.processes,
                                        .share = share,
                                        .company = MpsCompany::kShared});
    ProfileRow thin = row;
    thin.share = share;
    thin.throughput_rps = row.throughput_rps * factor;
    thin.latency = scaled(row.latency, 1 / factor);
    rows.push_back(thin);
  }
  out.profile.rows = std::move(rows);
  return out;
}

Occupant occupant_of(int tenant, const OperatingPoint& point) {
  return {.tenant = tenant,
          .role = Role::kServe,
          .batch = point.batch,
          .processes = point.processes,
          .share = point.share};
}

bool fit_together(const OperatingPoint& first,
                  const OperatingPoint& second,
                  const InstanceSize& size) {
  return !size.memory.has_value() ||
         first.memory.value_or(Bytes()).value() + second.memory.value_or(Bytes()).value() <=
             size.memory->value();
}

/// A pair with what it is worth.
struct RankedPair {
  PairLabel pair;
  double worth = 0;
};

class PairSearch {
 public:
  PairSearch(std::span<const AdmittedTenant> tenants,
             const LayoutLattice& lattice,
             const AdmissionRule& rule,
             const PairRule& pairs)
      : tenants_(tenants), lattice_(lattice), rule_(rule), pairs_(pairs), model_(pairs.phi) {}

  std::vector<PairLabel> run() {
    for (std::size_t a = 0; a < tenants_.size(); ++a) {
      for (std::size_t b = a + 1; b < tenants_.size(); ++b) {
        if (tenants_[a].tenant.trust_group == tenants_[b].tenant.trust_group) {
          add_pair(a, b);
        }
      }
    }
    std::stable_sort(found_.begin(), found_.end(), [](const RankedPair& x, const RankedPair& y) {
      return x.worth > y.worth;
    });
    std::vector<PairLabel> out;
    for (RankedPair& ranked : found_) {
      if (static_cast<int>(out.size()) < pairs_.labels_max) {
        out.push_back(std::move(ranked.pair));
      }
    }
    return out;
  }

 private:
  void add_pair(std::size_t a, std::size_t b) {
    std::vector<PairLabel> splits;
    for (const ActiveThreadPercentage share : pairs_.splits) {
      SEPTULE_CHECK(share.value() >= 1 && share.value() <= 99, "both of a pair get a share");
      splits.push_back(split_of(a, b, share));
    }
    drop_dominated(splits);
    for (PairLabel& split : splits) {
      const double worth = worth_of(split.label);
      if (worth > 0) {
        found_.push_back({std::move(split), worth});
      }
    }
  }

  PairLabel split_of(std::size_t a, std::size_t b, ActiveThreadPercentage share) const {
    const ActiveThreadPercentage rest(100 - share.value());
    const Tenant& first = tenants_[a].tenant;
    const Tenant& second = tenants_[b].tenant;
    PairLabel out;
    out.label.name =
        fmt::format("{} {} % + {} {} %", first.name, share.value(), second.name, rest.value());
    out.label.serves = {{.tenant = static_cast<int>(a), .rate_rps = {}},
                        {.tenant = static_cast<int>(b), .rate_rps = {}}};
    const std::array<Tenant, 2> thin{thinned(first, share, model_), thinned(second, rest, model_)};
    const AdmissionOutcome outcome = admit(thin, lattice_, rule_);
    if (outcome.admitted.size() < thin.size()) {
      return out;
    }
    for (std::size_t s = 0; s < lattice_.sizes().size(); ++s) {
      const std::optional<OperatingPoint>& x = outcome.admitted[0].serving[s];
      const std::optional<OperatingPoint>& y = outcome.admitted[1].serving[s];
      if (x.has_value() && y.has_value() && fit_together(*x, *y, lattice_.sizes()[s])) {
        out.label.serves[0].rate_rps[s] = x->throughput_rps;
        out.label.serves[1].rate_rps[s] = y->throughput_rps;
        out.occupants[s] = {occupant_of(static_cast<int>(a), *x),
                            occupant_of(static_cast<int>(b), *y)};
      }
    }
    return out;
  }

  /// Of splits that are equal on a size the first one keeps it.
  void drop_dominated(std::vector<PairLabel>& splits) const {
    for (std::size_t s = 0; s < lattice_.sizes().size(); ++s) {
      for (std::size_t i = 0; i < splits.size(); ++i) {
        const double x = splits[i].label.serves[0].rate_rps[s];
        const double y = splits[i].label.serves[1].rate_rps[s];
        bool is_dominated = false;
        for (std::size_t k = 0; k < splits.size(); ++k) {
          const double u = splits[k].label.serves[0].rate_rps[s];
          const double v = splits[k].label.serves[1].rate_rps[s];
          const bool is_better = u > x || v > y || k < i;
          is_dominated = is_dominated || (k != i && u >= x && v >= y && is_better);
        }
        if (is_dominated) {
          splits[i].label.serves[0].rate_rps[s] = 0;
          splits[i].label.serves[1].rate_rps[s] = 0;
          splits[i].occupants[s].reset();
        }
      }
    }
  }

  double worth_of(const Label& label) const {
    double sum = 0;
    int sizes = 0;
    for (std::size_t s = 0; s < lattice_.sizes().size(); ++s) {
      if (label.serves[0].rate_rps[s] <= 0) {
        continue;
      }
      ++sizes;
      for (const Label::Output& output : label.serves) {
        const AdmittedTenant& tenant = tenants_[static_cast<std::size_t>(output.tenant)];
        const double alone = tenant.throughput_rps(static_cast<int>(s));
        sum += alone > 0 ? output.rate_rps[s] / alone : 0;
      }
    }
    return sizes == 0 ? 0 : sum / sizes;
  }

  std::span<const AdmittedTenant> tenants_;
  const LayoutLattice& lattice_;
  const AdmissionRule& rule_;
  const PairRule& pairs_;
  MpsShareModel model_;
  std::vector<RankedPair> found_;
};

}  // namespace

std::vector<PairLabel> pair_labels(std::span<const AdmittedTenant> tenants,
                                   const LayoutLattice& lattice,
                                   const AdmissionRule& rule,
                                   const PairRule& pairs) {
  return PairSearch(tenants, lattice, rule, pairs).run();
}

}  // namespace septule::serve
