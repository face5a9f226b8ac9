#pragma once

#include <optional>
#include <vector>

#include "job/job.hpp"
#include "predict/speed_book.hpp"

namespace septule::predict {

/// Where the memory of a job fits: declared, never predicted. Exact: what the job's signature
/// needs, what the signatures of its later phases need (a job must not outgrow its place), what the
/// submitter stated; gangs need the whole GPU. Predictors of every kind share it. Immutable; any
/// thread may read.
class DeclaredFit {
 public:
  /// `book` must outlive it. Of the book's figures only whether a speed is 0 is looked at.
  explicit DeclaredFit(const SpeedBook& book);

  struct Job {
    /// Plain profiles that are too small, in the order of memory, beyond what the row of its
    /// signature says.
    int level = 0;
    std::optional<ProfileIndex> smallest;  ///< nothing = none
    Bytes need;
  };
  Job of(const job::JobSpec& job) const;
  /// Whether the level takes profiles away in which the signature fits.
  bool is_cut_by(job::SignatureIndex signature, int level) const;
  /// Sets the speeds on the profiles that the level excludes to 0.
  void cut(SpeedRow& row, int level) const;
  /// Whether a job of this signature and level fits the profile.
  bool fits(job::SignatureIndex signature, int level, ProfileIndex profile) const;

  const SpeedBook& book() const { return *book_; }

 private:
  int level_of(const job::JobSpec& job, Bytes need) const;

  const SpeedBook* book_;
  std::vector<ProfileIndex> by_memory_;  ///< plain profiles, least memory first
};

}  // namespace septule::predict
