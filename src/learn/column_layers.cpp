#include "learn/column_layers.hpp"

#include <Eigen/Core>
#include <array>

#include "base/check.hpp"
#include "learn/tensor_lookup.hpp"

namespace septule::learn {

namespace {

/// Half of the lanes: what a register holds. The compilers' own vector type, because clang 19 takes
/// eighteen times as long for the same expressions of Eigen: it passes each factor through memory.
using Half [[gnu::vector_size(16)]] = float;
constexpr std::size_t kHalf = 4;
static_assert(2 * kHalf == kLanes);

Half loaded(const float* from) {
  Half out;
  std::memcpy(&out, from, sizeof out);
  return out;
}
void store(Half half, float* to) {
  std::memcpy(to, &half, sizeof half);
}

}  // namespace

Result<ColumnDense> ColumnDense::make(const NetworkWeights& weights,
                                      std::string_view name,
                                      LayerSize size) {
  SEPTULE_TRY(const Tensor* tensor,
              tensor_of_shape(weights, name, std::array{size.outputs, size.inputs}));
  constexpr auto kBlockSize = static_cast<std::size_t>(kBlock);
  const auto outputs = static_cast<std::size_t>(size.outputs);
  ColumnDense layer;
  layer.inputs_ = static_cast<std::size_t>(size.inputs);
  layer.outputs_padded_ = (outputs + kBlockSize - 1) / kBlockSize * kBlockSize;
  layer.packed_.resize(layer.inputs_ * layer.outputs_padded_);
  for (std::size_t output = 0; output < outputs; ++output) {
    for (std::size_t input = 0; input < layer.inputs_; ++input) {
      layer.packed_[(output / kBlockSize * layer.inputs_ + input) * kBlockSize +
                    output % kBlockSize] = tensor->data[output * layer.inputs_ + input];
    }
  }
  return layer;
}

void ColumnDense::add_to(std::span<const Lanes> in, std::span<Lanes> out) const {
  SEPTULE_CHECK(in.size() == inputs_, "a layer gets the inputs it was made for");
  SEPTULE_CHECK(out.size() == outputs_padded_, "a layer fills the outputs it was made for");
  const float* weight = packed_.data();
  for (std::size_t output = 0; output < outputs_padded_; output += kBlock) {
    std::array<Half, kBlock> low{};
    std::array<Half, kBlock> high{};
    for (std::size_t row = 0; row < low.size(); ++row) {
      low[row] = loaded(out[output + row].at.data());
      high[row] = loaded(out[output + row].at.data() + kHalf);
    }
    for (const Lanes& from : in) {
      const Half first = loaded(from.at.data());
      const Half second = loaded(from.at.data() + kHalf);
      for (std::size_t row = 0; row < low.size(); ++row) {
        low[row] += weight[row] * first;
        high[row] += weight[row] * second;
      }
      weight += kBlock;
    }
    for (std::size_t row = 0; row < low.size(); ++row) {
      store(low[row], out[output + row].at.data());
      store(high[row], out[output + row].at.data() + kHalf);
    }
  }
}

Result<VectorDense> VectorDense::make(const NetworkWeights& weights,
                                      std::string_view name,
                                      LayerSize size) {
  SEPTULE_TRY(const Tensor* tensor,
              tensor_of_shape(weights, name, std::array{size.outputs, size.inputs}));
  SEPTULE_CHECK(static_cast<std::size_t>(size.inputs) % kLanes == 0,
                "inputs of a vector layer come in eights");
  VectorDense layer;
  layer.inputs_ = static_cast<std::size_t>(size.inputs);
  layer.weight_ = tensor->data;
  return layer;
}

void VectorDense::add_to(std::span<const float> in, std::span<float> out) const {
  SEPTULE_CHECK(in.size() == inputs_, "a layer gets the inputs it was made for");
  SEPTULE_CHECK(out.size() * inputs_ == weight_.size(), "a layer fills its outputs");
  const float* weight = weight_.data();
  for (float& sum : out) {
    Half first{};
    Half second{};
    for (std::size_t input = 0; input < inputs_; input += kLanes) {
      first += loaded(weight + input) * loaded(&in[input]);
      second += loaded(weight + input + kHalf) * loaded(&in[input + kHalf]);
    }
    const Half both = first + second;
    sum += (both[0] + both[1]) + (both[2] + both[3]);
    weight += inputs_;
  }
}

}  // namespace septule::learn
