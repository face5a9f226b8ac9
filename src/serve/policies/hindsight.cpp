#include "serve/policies/hindsight.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace septule::serve {

namespace {

/// Every way to give out instances, size by size.
class Labelling {
 public:
  Labelling(int size_count, int uses, int lanes_max)
      : size_count_(static_cast<std::size_t>(size_count)),
        lanes_max_(lanes_max),
        counts_(static_cast<std::size_t>(uses)) {}

  void add(const SizeTable<int>& multiset, std::vector<LabelledCounts>& all) {
    give(multiset, {0, 0, multiset[0], 0}, all);
  }

 private:
  struct Place {
    std::size_t size = 0;
    std::size_t use = 0;
    int left = 0;   // instances of this size not given yet
    int lanes = 0;  // given to lanes so far
  };
  void give(const SizeTable<int>& multiset, const Place& at, std::vector<LabelledCounts>& all) {
    if (at.size == size_count_) {
      all.push_back(counts_);
      return;
    }
    if (at.use + 1 == counts_.size()) {
      if (at.lanes + at.left > lanes_max_) {
        return;
      }
      counts_[at.use][at.size] = at.left;
      const std::size_t next = at.size + 1;
      give(multiset, {next, 0, next < size_count_ ? multiset[next] : 0, at.lanes + at.left}, all);
      return;
    }
    for (int taken = at.left; taken >= 0; --taken) {
      counts_[at.use][at.size] = taken;
      give(multiset, {at.size, at.use + 1, at.left - taken, at.lanes}, all);
    }
  }

  std::size_t size_count_;
  int lanes_max_;
  LabelledCounts counts_;
};

std::vector<int> sizes_of(const SizeTable<int>& counts) {
  std::vector<int> sizes;
  for (std::size_t size = kSizesMax; size > 0; --size) {
    sizes.insert(
        sizes.end(), static_cast<std::size_t>(counts[size - 1]), static_cast<int>(size) - 1);
  }
  return sizes;
}

}  // namespace

std::vector<LabelledCounts> labelled_counts(std::span<const SizeTable<int>> multisets,
                                            int size_count,
                                            int uses,
                                            int lanes_max) {
  std::vector<LabelledCounts> all;
  Labelling labelling(size_count, uses, lanes_max);
  for (const SizeTable<int>& multiset : multisets) {
    labelling.add(multiset, all);
  }
  return all;
}

Result<Hindsight> Hindsight::make(const ServingSetup& setup, std::span<const int> tenants) {
  Hindsight made;
  made.setup_ = &setup;
  made.tenants_.assign(tenants.begin(), tenants.end());
  made.seconds_ = static_cast<int>(setup.span.to_nanoseconds() / 1'000'000'000);
  if (made.seconds_ < 1) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("a policy that plans in hindsight needs to know for how long: the "
                             "span is {} s; valid is at least 1 s",
                             setup.span.to_seconds())};
  }
  for (std::size_t place = 0; place < tenants.size(); ++place) {
    const auto m = static_cast<std::size_t>(tenants[place]);
    if (setup.tenants[m].tenant.retraining.has_value()) {
      made.retraining_.push_back(static_cast<int>(place));
    }
    std::vector<double> rates;
    for (int second = 0; second < made.seconds_; ++second) {
      rates.push_back(
          setup.true_rates[m].at(SimTime() + Duration::milliseconds(std::int64_t{1000} * second)));
    }
    made.rates_.push_back(std::move(rates));
  }
  if (made.retraining_.size() > kOrderedMax) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} tenants of one GPU retrain; hindsight tries every order of at "
                             "most {}",
                             made.retraining_.size(),
                             kOrderedMax)};
  }
  made.orders_ = ordered_choices(made.retraining_);
  made.answered_.resize(tenants.size());
  return made;
}

const std::vector<double>& Hindsight::answered(std::size_t place, const SizeTable<int>& counts) {
  const auto [at, is_new] = answered_[place].try_emplace(counts);
  if (is_new) {
    double capacity = 0;
    for (std::size_t size = 0; size < kSizesMax; ++size) {
      capacity +=
          counts[size] * setup_->tenants[static_cast<std::size_t>(tenants_[place])].throughput_rps(
                             static_cast<int>(size));
    }
    std::vector<double>& sums = at->second;
    sums.reserve(rates_[place].size() + 1);
    sums.push_back(0);
    for (const double rate : rates_[place]) {
      sums.push_back(sums.back() + std::min(rate, capacity));
    }
  }
  return at->second;
}

const std::vector<std::vector<LaneRun>>& Hindsight::runs_of(std::span<const int> lane_sizes,
                                                            const Window& window) {
  const std::vector<int> lanes(lane_sizes.begin(), lane_sizes.end());
  const std::vector<int> key{
      window.begin_s, window.end_s, window.warm_ups == WarmUps::kNone ? 0 : 1};
  const auto [at, is_new] = runs_.try_emplace({lanes, key});
  if (is_new) {
    std::vector<LaneJob> jobs;
    for (const int place : retraining_) {
      const AdmittedTenant& tenant =
          setup_->tenants[static_cast<std::size_t>(tenants_[static_cast<std::size_t>(place)])];
      for (LaneJob& job : lane_jobs(tenant.tenant, place, window.begin_s, window.end_s)) {
        job.speed = tenant.retraining_speed;
        job.warm_up_s = window.warm_ups == WarmUps::kNone ? 0 : job.warm_up_s;
        jobs.push_back(job);
      }
    }
    for (const std::vector<int>& order : orders_) {
      at->second.push_back(run_lanes(jobs, lanes, order));
    }
  }
  return at->second;
}

Hindsight::Worth Hindsight::worth(const LabelledCounts& counts, const Window& window) {
  SEPTULE_CHECK(counts.size() == tenants_.size() + 1, "uses are the tenants and the lanes");
  double before = 0;
  std::vector<const std::vector<double>*> sums;
  std::vector<double> gain;  // per request answered by the retrained model
  for (std::size_t place = 0; place < tenants_.size(); ++place) {
    const Tenant& tenant = setup_->tenants[static_cast<std::size_t>(tenants_[place])].tenant;
    sums.push_back(&answered(place, counts[place]));
    const std::vector<double>& sum = *sums.back();
    before += tenant.weight * tenant.accuracy *
              (sum[static_cast<std::size_t>(window.end_s)] -
               sum[static_cast<std::size_t>(window.begin_s)]);
    const double after = tenant.retraining.has_value() ? tenant.retraining->accuracy_after : 0;
    gain.push_back(tenant.weight * (after - tenant.accuracy));
  }
  const std::vector<int> lanes = sizes_of(counts.back());
  Worth best{.goodput = before, .runs = {}};
  if (lanes.empty()) {
    return best;
  }
  for (const std::vector<LaneRun>& runs : runs_of(lanes, window)) {
    double goodput = before;
    for (const LaneRun& run : runs) {
      const auto place = static_cast<std::size_t>(run.tenant);
      goodput += gain[place] * ((*sums[place])[static_cast<std::size_t>(run.until_s)] -
                                (*sums[place])[static_cast<std::size_t>(run.from_s)]);
    }
    if (goodput > best.goodput) {
      best = {goodput, runs};
    }
  }
  for (LaneRun& run : best.runs) {
    run.tenant = tenants_[static_cast<std::size_t>(run.tenant)];
  }
  return best;
}

double Hindsight::creation_cost(int place, int size, const Window& window) const {
  const auto at = static_cast<std::size_t>(place);
  const AdmittedTenant& tenant = setup_->tenants[static_cast<std::size_t>(tenants_[at])];
  const double rate = tenant.throughput_rps(size);
  const int end_s = std::min(window.begin_s + whole_warm_up_s(tenant.tenant), window.end_s);
  double requests = 0;
  for (int second = window.begin_s; second < end_s; ++second) {
    requests += std::min(rate, rates_[at][static_cast<std::size_t>(second)]);
  }
  return tenant.tenant.weight * tenant.tenant.accuracy * requests;
}

}  // namespace septule::serve
