#pragma once

#include <cstddef>
#include <vector>

#include "base/check.hpp"
#include "job/job.hpp"

namespace septule::predict {

/// What a predictor keeps of each job, by the job's id (ids are dense from 0). `Known` is a value
/// with a default. Asking for a job that was not submitted is a programmer error. O(1). One thread.
template <class Known>
class SubmittedJobs {
 public:
  /// Begins anew with the job.
  Known& add(job::JobId job) {
    SEPTULE_CHECK(job.value() >= 0, "a job's id is at least 0");
    const auto index = static_cast<std::size_t>(job.value());
    if (index >= jobs_.size()) {
      jobs_.resize(index + 1);
    }
    jobs_[index] = Entry();
    jobs_[index].is_submitted = true;
    return jobs_[index].known;
  }
  const Known& of(job::JobId job) const { return jobs_[index_of(job)].known; }
  Known& of(job::JobId job) { return jobs_[index_of(job)].known; }

 private:
  struct Entry {
    bool is_submitted = false;
    Known known;
  };
  std::size_t index_of(job::JobId job) const {
    SEPTULE_CHECK(job.value() >= 0, "a job's id is at least 0");
    const auto index = static_cast<std::size_t>(job.value());
    SEPTULE_CHECK(index < jobs_.size() && jobs_[index].is_submitted, "the job has been submitted");
    return index;
  }

  std::vector<Entry> jobs_;
};

}  // namespace septule::predict
