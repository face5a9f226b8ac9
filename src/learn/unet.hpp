#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "predict/slice_prediction.hpp"

namespace septule::learn {

/// One tensor of a form of network: what the training writes and the inference asks for.
struct TensorForm {
  std::string name;
  std::vector<int> shape;
  bool is_trained = true;  ///< false: statistics, which no gradient moves
};

/// The tensors of the U-Net in the order of its layers, in LibTorch's layouts (outputs, inputs,
/// height, width; for "up", a transposed convolution, inputs, outputs, height, width):
///
///   encoder0.conv0   [32, 1, 2, 2]     encoder0.norm0   [32]
///   encoder0.conv1   [32, 32, 2, 2]    encoder0.norm1   [32]
///   encoder1.conv0   [64, 32, 2, 2]    encoder1.norm0   [64]
///   encoder1.conv1   [64, 64, 2, 2]    encoder1.norm1   [64]
///   center.conv0     [256, 64, 2, 2]   center.norm0     [256]
///   center.conv1     [256, 256, 2, 2]  center.norm1     [256]
///   decoder1.up      [256, 64, 2, 2]   decoder1.norm_up [128]
///   decoder1.conv0   [64, 128, 2, 2]   decoder1.norm0   [64]
///   decoder1.conv1   [64, 64, 2, 2]    decoder1.norm1   [64]
///   decoder0.up      [64, 32, 2, 2]    decoder0.norm_up [64]
///   decoder0.conv0   [32, 64, 2, 2]    decoder0.norm0   [32]
///   decoder0.conv1   [32, 32, 2, 2]    decoder0.norm1   [32]
///   output           [1, 32, 1, 1]
///
/// Each convolution has NAME.weight of this shape and NAME.bias [outputs]; each normalisation
/// NAME.weight, NAME.bias, NAME.running_mean and NAME.running_var of this shape (the last two are
/// not trained). Two tensors at the end are statistics that the training counts after its last
/// epoch:
///
///   dummy_input [7, 3]: row n - 1 is the mean column (levels 100, 50, 14, normalised as all
///     columns) of a dummy job in the training measurements with n real jobs; row 6 is not used
///     (no dummy is left) and repeats row 5.
///   residual_sd [7]: root mean square errors of this network for real jobs that it was not
///     trained on: time on 7g, 4g, 3g, then speed on 4g, 3g, 2g, 1g (as predict() gives them).
std::vector<TensorForm> unet_form();

/// Trained values of the published network (miso.md 3.3, recounted).
inline constexpr int kUnetParameters = 494849;

/// The U-Net of the MISO paper (miso.md 3.3): an image of 3 levels x 7 columns in, times on
/// 7g, 4g, 3g out, with convolutions over neighbouring columns. Knows the levels 100, 50 and 14 %
/// and seven columns only: predict() refuses other levels and a job without a time at each, and
/// fills the columns of absent jobs with what a dummy job showed in the training (dummy_input).
/// Depends on the order of the columns, unlike our own network. Speeds on 2g and 1g come from
/// predict::kMisoRegression. Times are kept within [kUnetTimeMin, 1]; weights whose sums overflow
/// are refused when asked. Immutable; any thread.
class Unet final : public predict::SliceModel {
 public:
  /// Fails with kInvalidInput if a tensor of unet_form() is missing, has another shape, or there is
  /// one that is not of the form.
  static Result<std::unique_ptr<Unet>> make(const NetworkWeights& weights);
  Unet(const Unet&) = delete;
  Unet& operator=(const Unet&) = delete;
  ~Unet() override;

  std::string_view name() const override { return "unet"; }
  Result<predict::SlicePredictions> predict(const predict::MpsMatrix& matrix) const override;

  /// The network alone: normalised times [level][column] in, its raw outputs [slice][column] out.
  using Image = std::array<std::array<double, predict::kCoRunnersMax>, 3>;
  Image raw_output(const Image& input) const;

 private:
  struct Network;
  explicit Unet(std::unique_ptr<const Network> network);
  std::unique_ptr<const Network> network_;
};

/// A network may put out anything; a time is positive [D].
inline constexpr double kUnetTimeMin = 0.01;

}  // namespace septule::learn
