#pragma once

// The only file that includes LibTorch; only the translation units that train include it (each
// costs half a minute to compile).
#include <ATen/Parallel.h>
#include <torch/autograd.h>
#include <torch/types.h>
// LibTorch brings glog's macros along; ours are named SEPTULE_*, nobody else's shall be in reach.
#undef CHECK
#undef LOG
#undef DCHECK

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/result.hpp"
#include "base/rng.hpp"
#include "learn/weights_file.hpp"

namespace septule::learn_train {

/// Calls `work` and turns what LibTorch throws into an Error.
template <class Work>
auto without_exceptions(std::string_view what, Work work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    return Error{ErrorCode::kFailed,
                 fmt::format("{}: LibTorch: {}", what, text.substr(0, text.find('\n')))};
  }
}

/// A network's tensors by name, in the order of their layers.
struct NamedTensor {
  std::string name;
  torch::Tensor value;
};
using NamedTensors = std::vector<NamedTensor>;

inline learn::Tensor exported(const std::string& name, const torch::Tensor& value) {
  const torch::Tensor flat = value.detach().contiguous().to(torch::kFloat32).reshape({-1});
  learn::Tensor tensor;
  tensor.name = name;
  for (const std::int64_t length : value.sizes()) {
    tensor.shape.push_back(static_cast<int>(length));
  }
  const float* const data = flat.data_ptr<float>();
  tensor.data.assign(data, data + flat.numel());
  return tensor;
}

/// Copies the values of `from`, which must have the shape of `into`.
inline Status import_into(const learn::NetworkWeights& from,
                          const std::string& name,
                          torch::Tensor into) {
  const learn::Tensor* const tensor = from.find(name);
  const std::vector<std::int64_t> shape = into.sizes().vec();
  if (tensor == nullptr || !std::equal(tensor->shape.begin(),
                                       tensor->shape.end(),
                                       shape.begin(),
                                       shape.end(),
                                       [](int a, std::int64_t b) { return a == b; })) {
    return Error{
        ErrorCode::kInvalidInput,
        fmt::format("the weights have no tensor \"{}\" of the shape this network asks for", name)};
  }
  const torch::NoGradGuard no_grad;
  into.copy_(torch::tensor(tensor->data).reshape(shape));
  return {};
}

/// Adam with decoupled weight decay, written out so that its state can be kept in our own files.
/// The step is that of Kingma and Ba (2015) with bias correction; `epsilon` is added to the root.
class Adam {
 public:
  struct Options {
    double epsilon = 1e-8;
    double beta1 = 0.9;
    double beta2 = 0.999;
  };
  Adam(NamedTensors parameters, Options options)
      : parameters_(std::move(parameters)), options_(options) {
    for (const NamedTensor& one : parameters_) {
      first_.push_back(torch::zeros_like(one.value));
      second_.push_back(torch::zeros_like(one.value));
    }
  }

  void clear_gradients() {
    for (NamedTensor& one : parameters_) {
      one.value.mutable_grad() = torch::Tensor();
    }
  }

  /// `decay_of` gives each parameter's weight decay.
  template <class Decay>
  void step(double learning_rate, Decay decay_of) {
    const torch::NoGradGuard no_grad;
    ++steps_;
    const double correction1 = 1 - std::pow(options_.beta1, static_cast<double>(steps_));
    const double correction2 = 1 - std::pow(options_.beta2, static_cast<double>(steps_));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      torch::Tensor& value = parameters_[i].value;
      const torch::Tensor gradient = value.grad();
      if (!gradient.defined()) {
        continue;
      }
      const double decay = decay_of(parameters_[i].name);
      if (decay > 0) {
        value.mul_(1 - learning_rate * decay);
      }
      first_[i].mul_(options_.beta1).add_(gradient, 1 - options_.beta1);
      second_[i].mul_(options_.beta2).addcmul_(gradient, gradient, 1 - options_.beta2);
      const torch::Tensor root =
          second_[i].sqrt().div_(std::sqrt(correction2)).add_(options_.epsilon);
      value.addcdiv_(first_[i], root, -learning_rate / correction1);
    }
  }

  void export_into(learn::NetworkWeights& state) const {
    state.settings["adam_steps"] = static_cast<double>(steps_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      state.tensors.push_back(exported("adam.first." + parameters_[i].name, first_[i]));
      state.tensors.push_back(exported("adam.second." + parameters_[i].name, second_[i]));
    }
  }
  Status restore(const learn::NetworkWeights& state) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      SEPTULE_TRY_STATUS(import_into(state, "adam.first." + parameters_[i].name, first_[i]));
      SEPTULE_TRY_STATUS(import_into(state, "adam.second." + parameters_[i].name, second_[i]));
    }
    const auto steps = state.settings.find("adam_steps");
    if (steps == state.settings.end()) {
      return Error{ErrorCode::kInvalidInput, "the checkpoint has no setting \"adam_steps\""};
    }
    steps_ = static_cast<std::int64_t>(steps->second);
    return {};
  }

 private:
  NamedTensors parameters_;
  Options options_;
  std::vector<torch::Tensor> first_;
  std::vector<torch::Tensor> second_;
  std::int64_t steps_ = 0;
};

/// A tensor of draws from our own stream, so that a seed does not depend on LibTorch's version.
inline torch::Tensor uniform_tensor(const std::vector<std::int64_t>& shape, double limit, Rng rng) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat32);
  float* const data = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<float>(limit * (2 * rng.uniform() - 1));
  }
  return tensor;
}

inline torch::Tensor normal_tensor(const std::vector<std::int64_t>& shape, double sd, Rng rng) {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat32);
  float* const data = tensor.data_ptr<float>();
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    data[i] = static_cast<float>(rng.normal(0, sd));
  }
  return tensor;
}

}  // namespace septule::learn_train
