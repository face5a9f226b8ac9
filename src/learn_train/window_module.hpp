#pragma once

// For the translation units that train or run the network for windows under LibTorch; nobody else.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/rng.hpp"
#include "learn/q_network.hpp"
#include "learn/window_features.hpp"
#include "learn_train/torch_support.hpp"

namespace septule::learn_train {

/// Static features of a window's rows.
using RowTable = std::array<learn::RowFeatures, learn::kWindowRows>;

/// Of Q to parts of a window's time sharing: losses and steps of training of the order of 1.
inline constexpr double kWindowNetScale = 10;

/// A step as the network is shown it. Pointers outlive the batch's making.
struct ShownStep {
  const learn::Observation* seen = nullptr;
  const RowTable* rows = nullptr;
};

inline constexpr std::int64_t kBatchRows = static_cast<std::int64_t>(learn::kWindowRows);
inline constexpr std::int64_t kBatchActions = static_cast<std::int64_t>(learn::kActions);
/// Q of an action that is not allowed.
inline constexpr float kForbidden = -1e9F;

/// Steps as tensors: only rows that are left and actions that are allowed are there, next to one
/// another. A plain value.
struct StepBatch {
  std::int64_t count = 0;
  torch::Tensor rows;         ///< [tokens, row features]
  torch::Tensor steps;        ///< [tokens, step features]
  torch::Tensor token_step;   ///< [tokens], which step of the batch
  torch::Tensor token_slot;   ///< [tokens], step x rows + row
  torch::Tensor context;      ///< [count, context features]
  torch::Tensor left_after;   ///< [count, actions, rows], 1 or 0
  torch::Tensor seat_token;   ///< [seat actions], index of the token
  torch::Tensor seat_step;    ///< [seat actions]
  torch::Tensor seat_action;  ///< [seat actions], step x actions + action
  torch::Tensor plans;        ///< [plan actions, plan features]
  torch::Tensor plan_choice;  ///< [plan actions]
  torch::Tensor plan_step;    ///< [plan actions]
  torch::Tensor plan_action;  ///< [plan actions], step x actions + action
  torch::Tensor guess;        ///< [seat actions + plan actions]
};

/// Collects numbers and makes them a tensor.
template <class Number>
class TensorRows {
 public:
  explicit TensorRows(std::int64_t width) : width_(width) {}
  template <class Values>
  void add(const Values& values) {
    numbers_.insert(numbers_.end(), values.begin(), values.end());
  }
  void add_one(Number number) { numbers_.push_back(number); }
  std::int64_t count() const { return static_cast<std::int64_t>(numbers_.size()) / width_; }
  torch::Tensor tensor() const {
    const torch::Tensor flat =
        torch::tensor(at::ArrayRef<Number>(numbers_.data(), numbers_.size()),
                      std::is_same_v<Number, float> ? torch::kFloat32 : torch::kInt64);
    return width_ == 1 ? flat : flat.reshape({-1, width_});
  }

 private:
  std::int64_t width_;
  std::vector<Number> numbers_;
};

inline StepBatch make_step_batch(std::span<const ShownStep> shown) {
  TensorRows<float> rows(static_cast<std::int64_t>(learn::kRowFeatures));
  TensorRows<float> steps(static_cast<std::int64_t>(learn::kStepFeatures));
  TensorRows<std::int64_t> token_step(1);
  TensorRows<std::int64_t> token_slot(1);
  TensorRows<float> context(static_cast<std::int64_t>(learn::kContextFeatures));
  TensorRows<std::int64_t> seat_token(1);
  TensorRows<std::int64_t> seat_step(1);
  TensorRows<std::int64_t> seat_action(1);
  TensorRows<float> plans(static_cast<std::int64_t>(learn::kPlanFeatures));
  TensorRows<std::int64_t> plan_choice(1);
  TensorRows<std::int64_t> plan_step(1);
  TensorRows<std::int64_t> plan_action(1);
  std::vector<float> guesses;
  std::vector<float> plan_guesses;
  StepBatch batch;
  batch.count = static_cast<std::int64_t>(shown.size());
  batch.left_after = torch::zeros({batch.count, kBatchActions, kBatchRows});
  float* const left_after = batch.left_after.data_ptr<float>();
  const auto note_left = [&](std::int64_t step, std::int64_t action, learn::RowSet left) {
    for (std::int64_t row = 0; row < kBatchRows; ++row) {
      left_after[(step * kBatchActions + action) * kBatchRows + row] =
          (left >> row & 1) != 0 ? 1.0F : 0.0F;
    }
  };
  for (std::int64_t b = 0; b < batch.count; ++b) {
    const learn::Observation& seen = *shown[static_cast<std::size_t>(b)].seen;
    const RowTable& table = *shown[static_cast<std::size_t>(b)].rows;
    context.add(seen.context);
    for (std::int64_t row = 0; row < kBatchRows; ++row) {
      if ((seen.left >> row & 1) == 0) {
        continue;
      }
      const auto at = static_cast<std::size_t>(row);
      if ((seen.may_take >> row & 1) != 0) {
        seat_token.add_one(token_slot.count());
        seat_step.add_one(b);
        seat_action.add_one(b * kBatchActions + row);
        guesses.push_back(seen.steps[at][20] / 4 - seen.steps[at][22] / 2);
        note_left(b, row, seen.left_after[at]);
      }
      token_step.add_one(b);
      token_slot.add_one(b * kBatchRows + row);
      rows.add(table[at]);
      steps.add(seen.steps[at]);
    }
    for (std::size_t i = 0; i < seen.choices.size(); ++i) {
      const std::int64_t action = kBatchRows + static_cast<std::int64_t>(i);
      plans.add(seen.plans[i]);
      plan_choice.add_one(seen.choices[i]);
      plan_step.add_one(b);
      plan_action.add_one(b * kBatchActions + action);
      plan_guesses.push_back(seen.plans[i][3] / 4 + seen.plans[i][8] / 2);
      note_left(b, action, seen.left_after[learn::kWindowRows + i]);
    }
  }
  guesses.insert(guesses.end(), plan_guesses.begin(), plan_guesses.end());
  batch.rows = rows.tensor();
  batch.steps = steps.tensor();
  batch.token_step = token_step.tensor();
  batch.token_slot = token_slot.tensor();
  batch.context = context.tensor();
  batch.seat_token = seat_token.tensor();
  batch.seat_step = seat_step.tensor();
  batch.seat_action = seat_action.tensor();
  batch.plans = plans.tensor();
  batch.plan_choice = plan_choice.tensor();
  batch.plan_step = plan_step.tensor();
  batch.plan_action = plan_action.tensor();
  batch.guess = torch::tensor(guesses);
  return batch;
}

/// The network's tensors and its pass forward (learn/q_network.hpp says what the network is). One
/// thread.
class WindowModule {
 public:
  /// First weights: those of a layer uniform within 1 / sqrt(inputs), of what is added up in the
  /// end a tenth of that and no bias, so that an untrained network follows the guesses.
  explicit WindowModule(const Rng& rng, double scale) : scale_(scale) {
    for (const learn::QLayer& layer : learn::q_layers()) {
      const double limit = 1 / std::sqrt(static_cast<double>(layer.inputs));
      const bool is_last = layer.outputs == 1;
      const std::string name(layer.name);
      add(name + ".weight",
          uniform_tensor({layer.outputs, layer.inputs},
                         is_last ? limit / 10 : limit,
                         rng.stream(name + ".weight")));
      if (layer.bias == learn::QLayer::Bias::kAdded) {
        add(name + ".bias",
            is_last ? torch::zeros({layer.outputs})
                    : uniform_tensor({layer.outputs}, limit, rng.stream(name + ".bias")));
      }
    }
    add("plan.choice",
        normal_tensor({static_cast<std::int64_t>(learn::lead_choices().size()), learn::kRowWidth},
                      0.1,
                      rng.stream("plan.choice")));
  }

  /// [count, actions], in units of `scale` to a part of the window's time sharing; kForbidden where
  /// not allowed.
  torch::Tensor forward(const StepBatch& batch) const {
    using torch::relu;
    const std::int64_t n = batch.count;
    const auto padded = [&](const torch::Tensor& tokens) {
      return torch::zeros({n * kBatchRows, tokens.size(1)})
          .index_copy(0, batch.token_slot, tokens)
          .view({n, kBatchRows, -1});
    };
    const torch::Tensor e = relu(linear("row.1", relu(linear("row.0", batch.rows))));
    const torch::Tensor padded_e = padded(e);
    const torch::Tensor hidden =
        relu(linear("token.row", e) + linear("token.step", batch.steps) +
             linear("token.context", batch.context).index_select(0, batch.token_step));
    const torch::Tensor token = relu(linear("token.out", hidden));
    const torch::Tensor padded_token = padded(token);
    torch::Tensor context = relu(linear(
        "context.0",
        torch::cat({padded_token.sum(1) / 4, std::get<0>(padded_token.max(1)), batch.context}, 1)));
    const torch::Tensor mixed =
        relu(linear("mix.row", token) +
             linear("mix.context", context).index_select(0, batch.token_step));
    const torch::Tensor padded_mixed = padded(mixed);
    context = relu(linear(
        "context.1",
        torch::cat({context, padded_mixed.sum(1) / 4, std::get<0>(padded_mixed.max(1))}, 1)));
    const torch::Tensor value =
        linear("value.1", relu(linear("value.0", context))) + rest(padded_e.sum(1) / 4);
    const torch::Tensor lefts =
        (torch::bmm(batch.left_after, padded_e) / 4).reshape({n * kBatchActions, -1});
    const torch::Tensor seat_left = lefts.index_select(0, batch.seat_action);
    const torch::Tensor seat =
        head("seat",
             relu(linear("seat.row", mixed.index_select(0, batch.seat_token)) +
                  linear("seat.context", context).index_select(0, batch.seat_step) +
                  linear("seat.step", batch.steps.index_select(0, batch.seat_token)) +
                  linear("seat.left", seat_left)));
    const torch::Tensor plan_left = lefts.index_select(0, batch.plan_action);
    const torch::Tensor plan =
        head("plan",
             relu(linear("plan.context", context).index_select(0, batch.plan_step) +
                  linear("plan.features", batch.plans) +
                  tensor("plan.choice").index_select(0, batch.plan_choice) +
                  linear("plan.left", plan_left)));
    const torch::Tensor advantage =
        torch::cat({seat + rest(seat_left), plan + rest(plan_left)}).squeeze(1);
    const torch::Tensor step = torch::cat({batch.seat_step, batch.plan_step});
    const torch::Tensor action = torch::cat({batch.seat_action, batch.plan_action});
    const torch::Tensor sum = torch::zeros({n}).index_add(0, step, advantage);
    const torch::Tensor count =
        torch::zeros({n}).index_add(0, step, torch::ones_like(advantage)).clamp_min(1);
    const torch::Tensor q =
        (value.squeeze(1) - sum / count).index_select(0, step) + advantage + scale_ * batch.guess;
    return torch::full({n * kBatchActions}, kForbidden)
        .index_copy(0, action, q)
        .view({n, kBatchActions});
  }

  NamedTensors& tensors() { return tensors_; }
  const NamedTensors& tensors() const { return tensors_; }

 private:
  void add(const std::string& name, const torch::Tensor& value) {
    tensors_.push_back({name, value.detach().set_requires_grad(true)});
  }
  const torch::Tensor& tensor(const std::string& name) const {
    for (const NamedTensor& one : tensors_) {
      if (one.name == name) {
        return one.value;
      }
    }
    SEPTULE_CHECK(false, "a layer asks for tensors that were made for it");
  }
  bool has(const std::string& name) const {
    return std::ranges::any_of(tensors_, [&](const NamedTensor& one) { return one.name == name; });
  }
  torch::Tensor linear(const std::string& name, const torch::Tensor& input) const {
    return has(name + ".bias")
               ? torch::linear(input, tensor(name + ".weight"), tensor(name + ".bias"))
               : torch::linear(input, tensor(name + ".weight"));
  }
  torch::Tensor head(const std::string& name, const torch::Tensor& hidden) const {
    return linear(name + ".2", torch::relu(linear(name + ".1", hidden)));
  }
  torch::Tensor rest(const torch::Tensor& left) const {
    return linear("rest.2", torch::relu(linear("rest.1", torch::relu(linear("rest.0", left)))));
  }

  double scale_;
  NamedTensors tensors_;
};

}  // namespace septule::learn_train
