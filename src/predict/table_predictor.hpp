#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/rng.hpp"
#include "predict/predictor.hpp"

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

/// Exact lookup of measured speeds, with error on demand. Fits are exact. Figures are drawn from a
/// stream named after the job (or signature), so that one more job changes no other.
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
  std::optional<ProfileIndex> smallest(job::JobId job) const override;
  Bytes need(job::JobId job) const override;
  void characterised(const MpsSample& sample) override;
  void forget(job::JobId job) override;

 private:
  struct Known {
    bool is_submitted = false;
    job::SignatureIndex signature;         ///< what it was submitted as
    std::optional<ProfileIndex> smallest;  ///< stated memory considered
    Bytes need;
    const SpeedRow* row = nullptr;  ///< into rows_ of the job or signature
    bool is_forgotten = false;
  };
  Known& known(job::JobId job);
  const SpeedRow* row_of(job::SignatureIndex signature, std::uint64_t stream);

  const SpeedBook* book_;
  Options options_;
  std::vector<Known> jobs_;
  std::vector<std::unique_ptr<SpeedRow>> rows_;  ///< per job (kPerJob)
  std::vector<const SpeedRow*> by_signature_;    ///< remembered ones; null = unknown
};

}  // namespace septule::predict
