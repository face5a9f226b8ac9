#include "serve/batching_queue.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace septule::serve {
namespace {

/// Arrival times that have gone are cleared away from this number on.
constexpr std::size_t kGoneMin = 1024;

}  // namespace

BatchingQueue::BatchingQueue(ServiceTimes service, const BatchingOptions& options)
    : service_(std::move(service)),
      options_(options),
      free_(static_cast<std::size_t>(options.processes), options.ready) {
  SEPTULE_CHECK(options.processes >= 1, "a queue has at least one process");
  SEPTULE_CHECK(options.waiting_max >= 1, "one request at least may wait");
}

bool BatchingQueue::arrive(const Request& request) {
  if (waiting_count() >= static_cast<std::size_t>(options_.waiting_max)) {
    return false;
  }
  waiting_.push_back(request);
  return true;
}

SimTime BatchingQueue::launch_time() const {
  const Request& oldest = waiting_[head_];
  const SimTime earliest = std::max(free_.front(), oldest.joins);
  if (options_.launch == LaunchRule::kWhenIdle) {
    return earliest;
  }
  const int full = service_.batch_max();
  SimTime due = options_.launch == LaunchRule::kTimeout
                    ? oldest.joins + options_.timeout
                    : oldest.arrived + (options_.slo - service_.of(full));
  if (waiting_count() >= static_cast<std::size_t>(full)) {
    due = std::min(due, waiting_[head_ + static_cast<std::size_t>(full) - 1].joins);
  }
  return std::max(earliest, due);
}

/// How many of those at the front are there by `time`, at most a full batch.
std::size_t BatchingQueue::arrived_by(SimTime time) const {
  const auto full = static_cast<std::size_t>(service_.batch_max());
  const std::size_t end = std::min(waiting_.size(), head_ + full);
  std::size_t next = head_;
  while (next < end && waiting_[next].joins <= time) {
    ++next;
  }
  return next - head_;
}

void BatchingQueue::launch(SimTime time, std::vector<Answer>& answers) {
  std::size_t count = arrived_by(time);
  SimTime finished = time;
  while (count > 0) {
    finished = time + service_.of(static_cast<int>(count));
    if (options_.late == LateRule::kAnswered ||
        finished <= waiting_[head_].arrived + options_.slo) {
      break;
    }
    answers.push_back({.arrived = waiting_[head_].arrived, .finished = time, .is_answered = false});
    ++head_;
    count = arrived_by(time);
  }
  for (std::size_t i = 0; i < count; ++i) {
    answers.push_back(
        {.arrived = waiting_[head_].arrived, .finished = finished, .is_answered = true});
    ++head_;
  }
  if (count > 0) {
    free_.front() = finished;
    for (std::size_t i = 1; i < free_.size() && free_[i] < free_[i - 1]; ++i) {
      std::swap(free_[i], free_[i - 1]);
    }
  }
  if (head_ >= kGoneMin && head_ * 2 >= waiting_.size()) {
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
}

void BatchingQueue::advance(SimTime until, std::vector<Answer>& answers) {
  while (waiting_count() > 0) {
    const SimTime time = launch_time();
    if (time >= until) {
      return;
    }
    launch(time, answers);
  }
}

SimTime BatchingQueue::predicted_finish(SimTime now) const {
  const std::size_t waiting = waiting_count();
  if (waiting == 0 && free_.front() <= now) {
    return now + service_.of(1);
  }
  const auto full = static_cast<std::size_t>(service_.batch_max());
  const Duration batch_time = service_.of(service_.batch_max());
  // The own batch is the j-th to be launched from now on; processes take turns as they get free.
  const std::size_t j = waiting / full;
  const std::size_t processes = free_.size();
  const auto rounds = static_cast<std::int64_t>(j / processes) + 1;
  return std::max(free_[j % processes], now) +
         Duration::nanoseconds(batch_time.to_nanoseconds() * rounds);
}

std::vector<SimTime> BatchingQueue::take_waiting() {
  std::vector<SimTime> taken;
  for (; head_ < waiting_.size(); ++head_) {
    taken.push_back(waiting_[head_].arrived);
  }
  waiting_.clear();
  head_ = 0;
  return taken;
}

void BatchingQueue::set_service(ServiceTimes service) {
  service_ = std::move(service);
}

TailFigures simulate_tail(const ServiceTimes& service,
                          const BatchingOptions& options,
                          const TailLoad& load) {
  SEPTULE_CHECK(load.rate_rps > 0, "somebody arrives");
  SEPTULE_CHECK(load.requests > 0, "requests are simulated");
  Rng rng = Rng(load.seed).stream("tail");
  BatchingQueue queue(service, options);
  std::vector<Answer> answers;
  LatencyHistogram latencies;
  const std::int64_t skipped = load.requests / 10;
  std::int64_t seen = 0;
  std::int64_t counted = 0;
  std::int64_t in_slo = 0;
  const auto count = [&] {
    for (const Answer& answer : answers) {
      if (++seen <= skipped) {
        continue;
      }
      ++counted;
      if (answer.is_answered) {
        latencies.add(answer.finished - answer.arrived);
        in_slo += answer.finished - answer.arrived <= load.slo ? 1 : 0;
      }
    }
    answers.clear();
  };
  SimTime now;
  for (std::int64_t i = 0; i < load.requests; ++i) {
    now = now + seconds_to_duration(rng.exponential(1 / load.rate_rps));
    queue.advance(now, answers);
    if (!queue.arrive(now)) {
      answers.push_back({.arrived = now, .finished = now, .is_answered = false});
    }
    count();
  }
  queue.advance(SimTime::never(), answers);
  count();
  return {.mean = latencies.mean(),
          .p50 = latencies.quantile(0.5),
          .p99 = latencies.quantile(0.99),
          .attainment =
              counted == 0 ? 0.0 : static_cast<double>(in_slo) / static_cast<double>(counted)};
}

std::optional<TailFigures> validate_tail(const ModelProfile& profile,
                                         ComputeSlices slices,
                                         const OperatingPoint& point,
                                         const TailLoad& load) {
  const auto service = ServiceTimes::of_profile(
      profile,
      {.slices = slices, .batch = point.batch, .processes = point.processes, .share = point.share},
      MpsShareModel());
  if (!service) {
    return std::nullopt;
  }
  return simulate_tail(*service, {.processes = point.processes, .slo = load.slo}, load);
}

}  // namespace septule::serve
