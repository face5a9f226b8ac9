#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "learn/weights_file.hpp"

namespace septule::learn {

/// Columns that are computed at once: seven jobs and one place that is not used.
inline constexpr std::size_t kLanes = 8;
/// One number for each column.
struct alignas(32) Lanes {
  std::array<float, kLanes> at{};
};

/// Inputs and outputs of a dense layer.
struct LayerSize {
  int inputs = 1;
  int outputs = 1;
};

/// A dense layer without bias, the same for every column (float32; docs/adr/0018). Each
/// output is summed over the inputs in order, so that what a column gives does not depend on where
/// it stands. Tensor: [outputs, inputs]. A value; any thread.
class ColumnDense {
 public:
  /// Outputs computed together; outputs are padded with zeros to a multiple.
  static constexpr int kBlock = 4;

  /// Fails with kInvalidInput if the tensor is missing or has another shape.
  static Result<ColumnDense> make(const NetworkWeights& weights,
                                  std::string_view name,
                                  LayerSize size);
  std::size_t inputs() const { return inputs_; }
  std::size_t outputs_padded() const { return outputs_padded_; }
  /// Adds weight x `in` to `out`; `in` has as many elements as inputs, `out` outputs_padded(). No
  /// heap.
  void add_to(std::span<const Lanes> in, std::span<Lanes> out) const;

 private:
  std::size_t inputs_ = 0;
  std::size_t outputs_padded_ = 0;
  std::vector<float> packed_;  ///< [output / kBlock][input][output % kBlock]
};

/// A dense layer without bias on one vector; inputs are a multiple of kLanes. Tensor: [outputs,
/// inputs]. A value; any thread.
class VectorDense {
 public:
  static Result<VectorDense> make(const NetworkWeights& weights,
                                  std::string_view name,
                                  LayerSize size);
  /// Adds weight x `in` to `out`. No heap.
  void add_to(std::span<const float> in, std::span<float> out) const;

 private:
  std::size_t inputs_ = 0;
  std::vector<float> weight_;  ///< [output][input]
};

}  // namespace septule::learn
