#include "sim/tenant_retraining.hpp"

#include <algorithm>

namespace septule::sim {
namespace {

/// Sums of equal parts need not reach the whole to the last digit.
constexpr double kWorkTolerance = 1e-9;

}  // namespace

TenantRetraining::TenantRetraining(const serve::RetrainingJob* job) : job_(job) {
  if (job_ != nullptr) {
    begin_job(SimTime());
  }
}

void TenantRetraining::begin_job(SimTime begin) {
  begin_ = begin;
  left_s_ = job_->work_s;
  is_retrained_ = false;
  is_complete_ = false;
}

std::optional<SimTime> TenantRetraining::release() const {
  return job_ == nullptr ? std::nullopt : std::optional(begin_ + job_->release);
}

std::optional<SimTime> TenantRetraining::deadline() const {
  if (job_ == nullptr) {
    return std::nullopt;
  }
  const std::optional<Duration> after = job_->deadline ? job_->deadline : job_->period;
  return after ? std::optional(begin_ + *after) : std::nullopt;
}

void TenantRetraining::begin_second(SimTime now) {
  if (job_ == nullptr) {
    return;
  }
  if (is_complete_) {
    is_retrained_ = true;
  }
  const std::optional<SimTime> end = deadline();
  if (left_s_ > 0 && end && *end <= now) {
    ++missed_;
    left_s_ = 0;
  }
  while (job_->period && begin_ + *job_->period <= now) {
    missed_ += left_s_ > 0 ? 1 : 0;
    begin_job(begin_ + *job_->period);
  }
  is_open_ = left_s_ > 0 && begin_ + job_->release <= now;
}

void TenantRetraining::work(SimTime from, SimTime to, double speed) {
  if (job_ == nullptr || left_s_ <= 0 || speed <= 0) {
    return;
  }
  from = std::max(from, begin_ + job_->release);
  to = std::min(to, deadline().value_or(SimTime::never()));
  if (from >= to) {
    return;
  }
  left_s_ -= (to - from).to_seconds() * speed;
  if (!stretches_.empty() && stretches_.back().second == from) {
    stretches_.back().second = to;
  } else {
    stretches_.emplace_back(from, to);
  }
  if (left_s_ <= kWorkTolerance * job_->work_s) {
    left_s_ = 0;
    is_complete_ = true;
    ++done_;
  }
}

}  // namespace septule::sim
