#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "predict/declared_fit.hpp"
#include "predict/predictor.hpp"
#include "predict/submitted_jobs.hpp"

namespace septule::predict {

/// What a TablePredictor knows without a characterisation run.
enum class Knowledge {
  kEverything,    ///< all signatures: the oracle's, openly
  kPerJob,        ///< nothing; each job is to be characterised for itself (MISO)
  kPerSignature,  ///< nothing at first; a signature seen once is remembered (Septule)
};

/// The error put on a table's figures (miso.md 3.4): step times normalised by the largest of the
/// three largest profiles get e ~ N(mean, sd) with random sign, per job (or remembered signature)
/// and profile, drawn once.
struct TableError {
  double mean = 0;  ///< 0 = none
  double sd = 0;
};

/// Exact lookup of measured speeds, with error on demand. Fits are exact (DeclaredFit). Figures are
/// drawn from a stream named after the job (kPerJob) or signature, so that one more job changes no
/// other.
///
/// forget() makes a job unknown, whatever is remembered of signatures, until characterised() says
/// by which signature it is known now. Every call is O(1) in the number of jobs. One thread.
class TablePredictor final : public Predictor {
 public:
  struct Options {
    Knowledge knowledge = Knowledge::kPerJob;
    TableError error;
    std::uint64_t seed = 1;
  };
  /// `book` must outlive the predictor.
  TablePredictor(const SpeedBook& book, const Options& options);

  void submitted(const job::JobSpec& job) override;
  const SpeedRow* speeds(job::JobId job) const override;
  /// Exact: counting kernels is no prediction.
  std::optional<KernelUse> kernels(job::JobId job) const override;
  std::optional<ProfileIndex> smallest(job::JobId job) const override;
  Bytes need(job::JobId job) const override;
  void characterised(std::span<const MpsSample> run) override;
  void forget(job::JobId job) override;

 private:
  void learn(const MpsSample& sample);
  /// Speeds of a signature for jobs that are excluded from the first `level` plain profiles in the
  /// order of memory.
  struct Variant {
    int level = 0;
    std::unique_ptr<SpeedRow> row;
  };
  struct Remembered {
    bool is_known = false;
    std::vector<Variant> variants;
  };
  struct Known {
    bool is_forgotten = false;
    DeclaredFit::Job fit;
    job::SignatureIndex signature;      ///< by which the job is known (at first: submitted as)
    const SpeedRow* row = nullptr;      ///< what is believed, if it is known
    std::unique_ptr<SpeedRow> own_row;  ///< kPerJob, where it differs from the book's
  };
  bool is_exact() const { return options_.error.mean == 0 && options_.error.sd == 0; }
  SpeedRow make_row(job::SignatureIndex signature, int level, std::uint64_t stream) const;
  const SpeedRow* shared_row(job::SignatureIndex signature, int level);

  const SpeedBook* book_;
  Options options_;
  DeclaredFit fit_;
  SubmittedJobs<Known> jobs_;
  std::vector<Remembered> remembered_;  ///< by signature; empty for kPerJob
};

}  // namespace septule::predict
