#include "learn/column_layers.hpp"

#include <Eigen/Core>
#include <array>

#include "base/check.hpp"
#include "learn/tensor_lookup.hpp"

namespace septule::learn {

namespace {

/// Half of the lanes: what a register holds.
using Half = Eigen::Array4f;
constexpr std::size_t kHalf = 4;
static_assert(2 * kHalf == kLanes);

Half low(const Lanes& lanes) {
  return Eigen::Map<const Half, Eigen::Aligned16>(lanes.at.data());
}
Half high(const Lanes& lanes) {
  return Eigen::Map<const Half, Eigen::Aligned16>(lanes.at.data() + kHalf);
}
void store(const Half& first, const Half& second, Lanes* out) {
  Eigen::Map<Half, Eigen::Aligned16>(out->at.data()) = first;
  Eigen::Map<Half, Eigen::Aligned16>(out->at.data() + kHalf) = second;
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
    Lanes* const to = &out[output];
    Half low0 = low(to[0]);
    Half low1 = low(to[1]);
    Half low2 = low(to[2]);
    Half low3 = low(to[3]);
    Half high0 = high(to[0]);
    Half high1 = high(to[1]);
    Half high2 = high(to[2]);
    Half high3 = high(to[3]);
    for (const Lanes& from : in) {
      const Half first = low(from);
      const Half second = high(from);
      low0 += weight[0] * first;
      high0 += weight[0] * second;
      low1 += weight[1] * first;
      high1 += weight[1] * second;
      low2 += weight[2] * first;
      high2 += weight[2] * second;
      low3 += weight[3] * first;
      high3 += weight[3] * second;
      weight += kBlock;
    }
    store(low0, high0, &to[0]);
    store(low1, high1, &to[1]);
    store(low2, high2, &to[2]);
    store(low3, high3, &to[3]);
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
    Half first = Half::Zero();
    Half second = Half::Zero();
    for (std::size_t input = 0; input < inputs_; input += kLanes) {
      first += Eigen::Map<const Half>(weight + input) * Eigen::Map<const Half>(&in[input]);
      second += Eigen::Map<const Half>(weight + input + kHalf) *
                Eigen::Map<const Half>(&in[input + kHalf]);
    }
    const Half both = first + second;
    sum += (both[0] + both[1]) + (both[2] + both[3]);
    weight += inputs_;
  }
}

}  // namespace septule::learn
