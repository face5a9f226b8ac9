#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn/column_layers.hpp"
#include "learn/weights_file.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn {

/// Settings of the form of a SliceNet, as they stand in its weights.
struct SliceNetForm {
  int width = 64;    ///< features of a column between layers; a multiple of kLanes
  int layers = 4;    ///< the first one, and layers in which columns see each other
  int classes = 33;  ///< known kinds of jobs
  int members = 1;   ///< networks whose beliefs are averaged
  enum class Counters { kNone, kUsed };
  Counters counters = Counters::kNone;  ///< whether features of counters follow

  static constexpr int kWidthMax = 128;
  static constexpr int kLayersMax = 8;
  static constexpr int kClassesMax = 64;
  static constexpr int kMembersMax = 8;
};

/// Septule's network: from a co-run to the speed of each job on all five slices, with errors
/// (docs/predict.md). What each column shows goes, with what all columns show together, through the
/// same layers, so that the order of columns does not matter, and any number from 1 to 7 will do.
/// The answer of a column is a belief: how likely the job behaves like each of the kinds of jobs
/// that were measured on slices ("classes"). Estimates and errors are taken of that belief, so they
/// always lie within what has been measured.
///
///   features of a column (10): x[3], ln(max(x, 0.02))[3], known[3], columns / 7, where x are the
///     times at 100, 50 and 14 % divided by the largest known one; 0 where not known
///   with counters, 5 more: (sm_percent / 100, memory_percent / 100, ln(power_watts / 100),
///     ln(footprint_mib / 1000)), each less its mean and divided by its deviation among the
///     classes, and 1; all five are 0 for a column of which not all four counters are known
///   h = relu(W0 f + b0)
///   layer l = 1 .. layers - 1: u = relu(W h + b + U mean(h) + V max(h)), mean and max over all
///     columns; h = u for l = 1, else h = h + u
///   belief = softmax((Wc h + bc) / temperature) over the classes that are jobs; averaged over the
///     members; where a job's smallest slice is declared, times 1e-9 for classes with another one
///
/// Tensors, for each member M from 0 (LibTorch's layout [outputs, inputs]):
///   memberM.input.weight [width, 10 or 15], memberM.input.bias [width]
///   memberM.layerL.own.weight, .mean.weight, .max.weight [width, width], memberM.layerL.bias
///     [width], L from 1
///   memberM.classes.weight [classes, width], memberM.classes.bias [classes]
/// and once: class.is_job [classes], 1, or 0 for a filler (the "dummy" of the training data);
///   class.time [classes, 3], times on 7g, 4g, 3g by the largest of them; class.speed [classes, 5],
///   relative to 7g, 0 = the class does not fit there; with counters, counter.mean [4] and
///   counter.sd [4] (above 0).
/// Settings: width, layers, classes, members; counters (1 = used; 0 or left out = not); temperature
/// (0.1 to 10); sd_floor (0 to 1, standard deviation added to all of them, squared);
/// time_median_part (0 to 1: a time is this part of the belief's median, the rest of its mean).
///
/// Speeds go down from slice to slice: speed on a slice = speed on the next larger one less the
/// mean loss between the two among the classes that fit the smaller one, at least kSpeedLeast. A
/// mean of the speed itself would compare slices over different jobs, as only small ones fit small
/// slices. Where the smallest slice of a job is declared, both are the same.
///
/// Other percentages than 100, 50 and 14 are mapped to these (canonical_levels.hpp). Columns are
/// computed in an order of their contents, so that permuting columns permutes the answer to the
/// last bit. Immutable; any thread.
class SliceNet final : public predict::SliceModel {
 public:
  /// Fails with kInvalidInput if a setting or tensor is missing or not as above, or there is one
  /// too many.
  static Result<std::unique_ptr<SliceNet>> make(const NetworkWeights& weights);

  std::string_view name() const override { return "ours"; }
  /// Besides what check_mps_matrix() refuses: a present column without a time at any of the three
  /// levels, measured or between two that were measured; weights whose sums overflow. A column is
  /// a filler only where MpsMatrix::fillers says that one is possible. No heap unless it fails.
  Result<predict::SlicePredictions> predict(const predict::MpsMatrix& matrix) const override;

  /// Whether a column may turn out to be a filler, instead of what the matrix says of it.
  enum class Fillers { kExcluded, kPossible };
  Result<predict::SlicePredictions> predict_with(const predict::MpsMatrix& matrix,
                                                 Fillers fillers) const;

 private:
  static constexpr std::size_t kTimes = 3;
  static constexpr std::size_t kCounters = 4;
  static constexpr std::size_t kTimeFeatures = 10;
  static constexpr std::size_t kFeaturesMax = kTimeFeatures + kCounters + 1;

  struct Layer {
    ColumnDense own;
    VectorDense mean;
    VectorDense max;
    std::vector<float> bias;
    bool is_residual = false;  ///< added to what came in
  };
  struct Member {
    ColumnDense input;
    std::vector<float> input_bias;
    std::vector<Layer> layers;
    ColumnDense classes;
    std::vector<float> classes_bias;
  };
  /// A value that classes have: the classes that have it, ascending by value, then index.
  struct Quantity {
    std::vector<std::size_t> classes;
    std::vector<double> values;
  };
  /// How counters become features.
  struct CounterScale {
    std::array<double, kCounters> mean{};
    std::array<double, kCounters> sd{};
  };
  struct Columns;
  using Belief = std::array<Lanes, static_cast<std::size_t>(SliceNetForm::kClassesMax)>;

  SliceNet() = default;
  Status read_members(const NetworkWeights& weights);
  Status read_classes(const NetworkWeights& weights);
  Status read_counters(const NetworkWeights& weights);
  static Result<Member> make_member(const NetworkWeights& weights,
                                    const SliceNetForm& form,
                                    int index);
  void apply(const Layer& layer, std::size_t count, std::span<Lanes> own) const;
  void logits(const Member& member, const Columns& columns, std::span<Lanes> out) const;
  void add_belief(const Member& member,
                  const Columns& columns,
                  Fillers fillers,
                  Belief* belief) const;
  void condition(const predict::MpsMatrix& matrix, const Columns& columns, Belief* belief) const;
  predict::SlicePrediction prediction(const Belief& belief, std::size_t lane) const;

  SliceNetForm form_;
  CounterScale counter_scale_;
  double temperature_ = 1;
  double sd_floor_ = 0;
  double time_median_part_ = 1;
  std::vector<Member> members_;
  std::vector<bool> is_job_;           ///< by class
  std::vector<std::size_t> smallest_;  ///< by class: index of the smallest slice it has
  std::array<Quantity, kTimes> times_;
  std::array<Quantity, predict::kSlices> speeds_;
  std::array<Quantity, predict::kSlices> losses_;  ///< against the next larger slice; not sorted
};

}  // namespace septule::learn
