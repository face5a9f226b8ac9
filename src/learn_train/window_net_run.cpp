// The network for windows under LibTorch, apart from its training.
#include <algorithm>
#include <array>
#include <cstddef>

#include "learn/q_network.hpp"
#include "learn_train/torch_support.hpp"
#include "learn_train/window_module.hpp"
#include "learn_train/window_trainer.hpp"

namespace septule::learn_train {

Result<std::vector<std::array<float, learn::kActions>>> run_window_net(
    const learn::NetworkWeights& weights,
    std::span<const learn::Observation> seen,
    std::span<const learn::RowFeatures> rows) {
  using Made = Result<std::vector<std::array<float, learn::kActions>>>;
  return without_exceptions("running the network for windows", [&]() -> Made {
    const torch::NoGradGuard no_grad;
    const double scale = weights.settings.at("scale");
    WindowModule module(Rng(0), scale);
    for (NamedTensor& one : module.tensors()) {
      SEPTULE_TRY_STATUS(import_into(weights, one.name, one.value));
    }
    RowTable table{};
    std::ranges::copy(rows.first(std::min(rows.size(), table.size())), table.begin());
    std::vector<ShownStep> shown;
    for (const learn::Observation& one : seen) {
      shown.push_back({.seen = &one, .rows = &table});
    }
    const torch::Tensor q = (module.forward(make_step_batch(shown)) / scale).contiguous();
    std::vector<std::array<float, learn::kActions>> out(seen.size());
    const float* from = q.data_ptr<float>();
    for (auto& values : out) {
      std::copy_n(from, learn::kActions, values.begin());
      from += learn::kActions;
    }
    return out;
  });
}

Result<learn::NetworkWeights> untrained_window_net(std::uint64_t seed) {
  return without_exceptions(
      "making the network for windows", [&]() -> Result<learn::NetworkWeights> {
        const WindowModule module(Rng(seed).stream("weights"), kWindowNetScale);
        learn::NetworkWeights weights;
        weights.kind = learn::kWindowNetKind;
        weights.settings["scale"] = kWindowNetScale;
        for (const NamedTensor& one : module.tensors()) {
          weights.tensors.push_back(exported(one.name, one.value));
        }
        return weights;
      });
}

}  // namespace septule::learn_train
