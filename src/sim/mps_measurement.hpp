#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "job/metrics.hpp"
#include "predict/measured_columns.hpp"
#include "predict/predictor.hpp"
#include "predict/speed_book.hpp"

namespace septule::sim {

/// Which measurement is being made: for names of signatures, and for chance of its own.
struct Measurement {
  const predict::SpeedBook& book;
  std::uint64_t seed = 1;   ///< of the simulated run
  std::uint64_t index = 0;  ///< counts the measurements of a kind in it
};

/// What the instruments say of jobs that share a GPU in a characterisation run, and of jobs alone.
/// The predictor sees that and nothing else. Const: many runs may ask one source at once; chance
/// comes from streams named after the measurement, so that no draw shifts another.
class MpsMeasurementSource {
 public:
  MpsMeasurementSource() = default;
  MpsMeasurementSource(const MpsMeasurementSource&) = delete;
  MpsMeasurementSource& operator=(const MpsMeasurementSource&) = delete;
  virtual ~MpsMeasurementSource() = default;

  /// For reports: "the truth model's step times, ...".
  virtual std::string text() const = 0;
  /// `samples` hold the step times that the agent saw of all jobs that shared the GPU; they become
  /// what the instruments say. Levels at which a job made no step stay empty. Returns how many
  /// columns came from where.
  virtual job::MeasurementCounts measure(const Measurement& at,
                                         std::span<predict::MpsSample> samples) const = 0;
  /// The same for the step time of a job alone.
  virtual void observe(const Measurement& at, predict::SliceObservation& observation) const = 0;
};

/// Times as the truth model of the simulator has them, each times a log-normal factor exp(N(0,
/// sd^2)); with sd 0 as the agent saw them.
class NoisyTruth final : public MpsMeasurementSource {
 public:
  explicit NoisyTruth(double noise_sd) : noise_sd_(noise_sd) {}
  std::string text() const override;
  job::MeasurementCounts measure(const Measurement& at,
                                 std::span<predict::MpsSample> samples) const override;
  void observe(const Measurement& at, predict::SliceObservation& observation) const override;

 private:
  double noise_sd_;
};

/// Columns as they were once measured: for each job of a run one of its kind at the same number of
/// real co-runners, drawn evenly, whatever the others are. If there is none, from the nearest
/// number of co-runners (MeasuredColumns::nearest_co_runners); for a kind of job that was not
/// measured, or a level that was not, the noisy truth. Jobs alone: the noisy truth.
class DrawnColumns final : public MpsMeasurementSource {
 public:
  DrawnColumns(predict::MeasuredColumns columns, double noise_sd)
      : columns_(std::move(columns)), truth_(noise_sd) {}
  std::string text() const override;
  job::MeasurementCounts measure(const Measurement& at,
                                 std::span<predict::MpsSample> samples) const override;
  void observe(const Measurement& at, predict::SliceObservation& observation) const override {
    truth_.observe(at, observation);
  }

 private:
  bool has_levels(const predict::MpsSample& sample) const;
  void put(const predict::MeasuredColumn& column, predict::MpsSample& sample) const;

  predict::MeasuredColumns columns_;
  NoisyTruth truth_;
};

}  // namespace septule::sim
