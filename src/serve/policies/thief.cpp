#include "serve/policies/thief.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.hpp"

namespace septule::serve {

namespace {

struct Job {
  std::size_t tenant = 0;
  bool is_retraining = false;
};

/// Quanta by job, and what they are worth.
class Thief {
 public:
  Thief(std::span<const ThiefTenant> tenants, int quanta, double window_s)
      : tenants_(tenants),
        window_s_(window_s),
        inference_(tenants.size(), 0),
        retraining_(tenants.size(), 0),
        values_(tenants.size(), 0) {
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      jobs_.push_back({m, false});
    }
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      if (tenants[m].retraining.has_value()) {
        jobs_.push_back({m, true});
      }
    }
    const int each = quanta / static_cast<int>(jobs_.size());
    int remainder = quanta % static_cast<int>(jobs_.size());
    for (const Job& job : jobs_) {
      quanta_of(job) = each + (remainder-- > 0 ? 1 : 0);
    }
    for (std::size_t m = 0; m < tenants.size(); ++m) {
      values_[m] = value_of(m);
    }
  }

  void run() {
    for (int pass = 0; pass < kThiefPassesMax && steal_all(); ++pass) {
    }
  }

  ThiefAllocation allocation() const {
    ThiefAllocation result{inference_, retraining_, total() / static_cast<double>(values_.size())};
    for (std::size_t m = 0; m < tenants_.size(); ++m) {
      if (retraining_[m] > 0 && !is_worth_retraining(m)) {
        result.retraining[m] = 0;
      }
    }
    return result;
  }

 private:
  int& quanta_of(const Job& job) {
    return job.is_retraining ? retraining_[job.tenant] : inference_[job.tenant];
  }
  double total() const {
    double sum = 0;
    for (const double value : values_) {
      sum += value;
    }
    return sum;
  }
  /// Average over the window with retraining on its quanta, relative to one answer.
  double retrained_average(std::size_t m) const {
    const ThiefTenant& tenant = tenants_[m];
    if (!tenant.retraining.has_value()) {
      return tenant.accuracy;
    }
    const double finish_s = tenant.retraining->finish_s[static_cast<std::size_t>(retraining_[m])];
    const double before = std::min(finish_s, window_s_) / window_s_;
    return tenant.accuracy * before + tenant.retraining->accuracy_after * (1 - before);
  }
  bool is_worth_retraining(std::size_t m) const {
    return retrained_average(m) > tenants_[m].accuracy;
  }
  double value_of(std::size_t m) const {
    const ThiefTenant& tenant = tenants_[m];
    const double rate = tenant.rate_rps[static_cast<std::size_t>(inference_[m])];
    const double answered = tenant.expected_rps <= rate ? 1.0 : rate / tenant.expected_rps;
    return answered * std::max(tenant.accuracy, retrained_average(m));
  }
  bool steal_all() {
    bool is_changed = false;
    for (const Job& thief : jobs_) {
      for (const Job& victim : jobs_) {
        if (&thief != &victim) {
          is_changed = steal(thief, victim) || is_changed;
        }
      }
    }
    return is_changed;
  }
  bool steal(const Job& thief, const Job& victim) {
    bool is_changed = false;
    while (quanta_of(victim) > 0) {
      const double before = total();
      const double thief_value = values_[thief.tenant];
      const double victim_value = values_[victim.tenant];
      move_quantum(victim, thief);
      // A rise by rounding alone would let two jobs steal from each other for ever.
      if (total() > before + 1e-12) {
        is_changed = true;
        continue;
      }
      move_quantum(thief, victim);
      values_[thief.tenant] = thief_value;
      values_[victim.tenant] = victim_value;
      break;
    }
    return is_changed;
  }
  void move_quantum(const Job& from, const Job& to) {
    --quanta_of(from);
    ++quanta_of(to);
    values_[from.tenant] = value_of(from.tenant);
    values_[to.tenant] = value_of(to.tenant);
  }

  std::span<const ThiefTenant> tenants_;
  double window_s_;
  std::vector<Job> jobs_;
  std::vector<int> inference_;
  std::vector<int> retraining_;
  std::vector<double> values_;
};

}  // namespace

ThiefAllocation thief_schedule(std::span<const ThiefTenant> tenants, int quanta, double window_s) {
  SEPTULE_CHECK(!tenants.empty(), "there is a tenant");
  SEPTULE_CHECK(quanta > 0, "there is a quantum to give");
  SEPTULE_CHECK(window_s > 0, "the window has a length");
  Thief thief(tenants, quanta, window_s);
  thief.run();
  return thief.allocation();
}

}  // namespace septule::serve
