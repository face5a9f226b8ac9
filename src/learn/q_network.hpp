#pragma once

#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "learn/weights_file.hpp"
#include "learn/window_features.hpp"

namespace septule::learn {

/// The kind in the files of these networks.
inline constexpr std::string_view kWindowNetKind = "window-net";

/// Sizes of the hidden layers.
inline constexpr int kRowWidth = 64;
inline constexpr int kContextWidth = 128;
inline constexpr int kHeadWidth = 32;

/// A tensor of the network by name, [outputs, inputs]; with a bias [outputs] or without.
struct QLayer {
  std::string_view name;
  int outputs = 1;
  int inputs = 1;
  enum class Bias { kNone, kAdded };
  Bias bias = Bias::kNone;
};
/// All layers in the order of the file: one list for inference, training and tests.
std::span<const QLayer> q_layers();

/// The dueling network that values the actions of a PartitionEnv (docs/window-rl.md), for inference
/// only. Rows are a set: what each shows goes through the same layers, with what all of them show
/// together, so that neither their order nor their number matters.
///
///   e_r = relu(row.1 relu(row.0 f_r)), f_r of row_features(): once for a window
///   h_r = relu(token.out relu(token.row e_r + token.step s_r + token.context g)), rows left only
///   c   = relu(context.0 [sum h / 4, max h, g])
///   u_r = relu(mix.row h_r + mix.context c)
///   d   = relu(context.1 [c, sum u / 4, max u])
///   rest(x) = rest.2 relu(rest.1 relu(rest.0 x)): what rows that are left are still worth
///   V   = value.1 relu(value.0 d) + rest(sum of e over rows left / 4)
///   l_a = sum of e over the rows left after the action / 4
///   A_a of a row  = seat.2 relu(seat.1 relu(seat.row u_r + seat.context d + seat.step s_r
///                   + seat.left l_a)) + rest(l_a)
///   A_a of a plan = plan.2 relu(plan.1 relu(plan.context d + plan.features p_a
///                   + plan.choice[choice] + plan.left l_a)) + rest(l_a)
///   Q_a = (V + A_a - mean of A over allowed actions) / scale + the plan's own guess of what is
///         gained: (s_20 / 4 - s_22 / 2) of a row, (p_3 / 4 + p_8 / 2) of a plan
/// Q is in parts of the window's time sharing; `scale` is a setting of the weights. Weights are
/// float32. Immutable; any thread, each with a Scratch of its own.
class QNetwork {
 public:
  /// Fails with kInvalidInput: another kind, a setting or tensor that is missing, of another shape,
  /// or one too many.
  static Result<QNetwork> make(const NetworkWeights& weights);

  /// What is worked out of a window's rows, and room for a pass. 15 KiB.
  class Scratch {
   public:
    Scratch() = default;

   private:
    friend class QNetwork;
    /// A column of kRowWidth for each row, next to one another.
    using Columns = std::array<float, kWindowRows* static_cast<std::size_t>(kRowWidth)>;
    alignas(32) Columns rows_{};        ///< e
    alignas(32) Columns token_rows_{};  ///< token.row e + bias
    alignas(32) Columns seat_lefts_{};  ///< seat.left e / 4
    alignas(32) Columns plan_lefts_{};  ///< plan.left e / 4
    alignas(32) Columns rest_lefts_{};  ///< rest.0 e / 4, without bias
  };
  void begin(const WindowRows& rows, Scratch& scratch) const;
  /// Values of the allowed actions of an observation of that window; the others are not touched. No
  /// heap.
  void values(const Observation& seen,
              const Scratch& scratch,
              std::span<float, kActions> out) const;

 private:
  struct Layers;

  explicit QNetwork(std::shared_ptr<const Layers> layers) : layers_(std::move(layers)) {}

  std::shared_ptr<const Layers> layers_;  ///< never null
};

}  // namespace septule::learn
