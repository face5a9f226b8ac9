#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "gpu/sharing_template.hpp"
#include "learn/partition_space.hpp"
#include "learn/seating_times.hpp"
#include "learn/window_rows.hpp"
#include "optimize/window_optimizer.hpp"
#include "predict/job_generator.hpp"
#include "predict/law_co_run.hpp"

namespace septule::learn_train {

/// A window of generated jobs with all that an episode needs. Neither copied nor moved; one thread.
class TrainingWindow {
 public:
  TrainingWindow(const TrainingWindow&) = delete;
  TrainingWindow& operator=(const TrainingWindow&) = delete;
  ~TrainingWindow() = default;

  const optimize::WindowProblem& problem() const { return problem_; }
  learn::SeatingTimes& times() { return *times_; }

 private:
  friend class WindowSource;
  TrainingWindow() = default;

  std::vector<plan::WindowJob> jobs_;
  std::vector<predict::JobTraits> traits_;
  std::unique_ptr<predict::LawCoRunModel> model_;
  optimize::WindowProblem problem_;
  std::unique_ptr<learn::WindowRows> rows_;
  std::unique_ptr<learn::SeatingTimes> times_;
};

/// Windows of generated jobs by part and number: the same for the same seed, whoever asks for them
/// and when. Parts share no job (predict::pool_part()). Anybody may share an MPS server, switching
/// costs nothing, survivors speed up. Immutable; any thread. The catalogue outlives it and its
/// windows.
class WindowSource {
 public:
  /// Jobs of which windows are drawn.
  static constexpr std::size_t kPoolJobs = 2000;
  /// The pool of the network that comes with Septule; another seed makes other jobs.
  static constexpr std::uint64_t kPoolSeed = 1;

  /// Fails as learn::PartitionSpace::make() and predict::JobGenerator::pool() do.
  static Result<std::unique_ptr<WindowSource>> make(const gpu::SharingCatalogue& catalogue,
                                                    std::uint64_t seed);
  WindowSource(const WindowSource&) = delete;
  WindowSource& operator=(const WindowSource&) = delete;
  ~WindowSource() = default;

  std::unique_ptr<TrainingWindow> window(predict::PoolPart part, std::uint64_t number) const;
  /// Of all jobs of the pool.
  std::string digest() const;

 private:
  WindowSource(learn::PartitionSpace space,
               std::vector<predict::GeneratedJob> pool,
               std::uint64_t seed)
      : space_(std::move(space)), pool_(std::move(pool)), seed_(seed) {}

  learn::PartitionSpace space_;
  std::vector<predict::GeneratedJob> pool_;
  std::uint64_t seed_;
};

}  // namespace septule::learn_train
