#include "learn/q_network.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <bit>
#include <set>
#include <string>

#include <fmt/format.h>

#include "base/text.hpp"
#include "learn/tensor_lookup.hpp"

namespace septule::learn {
namespace {

constexpr int kContextInputs = static_cast<int>(kContextFeatures);
constexpr float kLeftScale = 0.25F;

using RowVector = Eigen::Matrix<float, kRowWidth, 1>;
using ContextVector = Eigen::Matrix<float, kContextWidth, 1>;
using Columns = Eigen::Matrix<float, kRowWidth, static_cast<int>(kWindowRows)>;
using ColumnsMap = Eigen::Map<Columns, Eigen::Aligned32>;
using ConstColumnsMap = Eigen::Map<const Columns, Eigen::Aligned32>;
constexpr RealRange kScaleRange{.min = 1e-3, .max = 1e3};

/// Copies a layer's tensors, which are row by row, into its matrices.
template <class Layer>
Status read_layer(const NetworkWeights& weights, std::string_view name, Layer& layer) {
  const auto found =
      std::ranges::find_if(q_layers(), [&](const QLayer& one) { return one.name == name; });
  const auto outputs = static_cast<int>(layer.weight.rows());
  const auto inputs = static_cast<int>(layer.weight.cols());
  SEPTULE_CHECK(found != q_layers().end(), "a layer that is read is in the list");
  SEPTULE_CHECK(found->outputs == outputs && found->inputs == inputs,
                "the list and the network have the same sizes");
  SEPTULE_TRY(
      const Tensor* weight,
      tensor_of_shape(weights, fmt::format("{}.weight", name), std::array{outputs, inputs}));
  for (int output = 0; output < outputs; ++output) {
    for (int input = 0; input < inputs; ++input) {
      layer.weight(output, input) =
          weight->data[static_cast<std::size_t>(output) * static_cast<std::size_t>(inputs) +
                       static_cast<std::size_t>(input)];
    }
  }
  layer.bias.setZero();
  if (found->bias == QLayer::Bias::kAdded) {
    SEPTULE_TRY(const Tensor* bias,
                tensor_of_shape(weights, fmt::format("{}.bias", name), std::array{outputs}));
    std::ranges::copy(bias->data, layer.bias.data());
  }
  return {};
}

Status check_names(const NetworkWeights& weights) {
  std::set<std::string> expected = {"plan.choice"};
  for (const QLayer& layer : q_layers()) {
    expected.insert(fmt::format("{}.weight", layer.name));
    if (layer.bias == QLayer::Bias::kAdded) {
      expected.insert(fmt::format("{}.bias", layer.name));
    }
  }
  for (const Tensor& tensor : weights.tensors) {
    if (!expected.contains(tensor.name)) {
      return Error{ErrorCode::kInvalidInput,
                   fmt::format("the tensor {} is none of kind \"{}\"",
                               quoted_for_message(tensor.name),
                               kWindowNetKind)};
    }
  }
  return {};
}

template <class Visit>
void for_each_row(unsigned set, Visit visit) {
  for (; set != 0; set &= set - 1) {
    visit(std::countr_zero(set));
  }
}

/// Sum over columns of a set, in ascending order.
RowVector sum_of(const ConstColumnsMap& columns, RowSet set) {
  RowVector sum = RowVector::Zero();
  for_each_row(set, [&](int row) { sum += columns.col(row); });
  return sum;
}

template <std::size_t N>
auto as_vector(const std::array<float, N>& values) {
  return Eigen::Map<const Eigen::Matrix<float, static_cast<int>(N), 1>>(values.data());
}

}  // namespace

struct QNetwork::Layers {
  template <int Outputs, int Inputs>
  struct Dense {
    Eigen::Matrix<float, Outputs, Inputs> weight;
    Eigen::Matrix<float, Outputs, 1> bias;
  };
  static constexpr int kContextInputs = static_cast<int>(kContextFeatures);
  static constexpr int kStepInputs = static_cast<int>(kStepFeatures);

  Dense<kRowWidth, static_cast<int>(kRowFeatures)> row_0;
  Dense<kRowWidth, kRowWidth> row_1;
  Dense<kRowWidth, kRowWidth> token_row;
  Dense<kRowWidth, kStepInputs> token_step;
  Dense<kRowWidth, kContextInputs> token_context;
  Dense<kRowWidth, kRowWidth> token_out;
  Dense<kContextWidth, 2 * kRowWidth + kContextInputs> context_0;
  Dense<kRowWidth, kRowWidth> mix_row;
  Dense<kRowWidth, kContextWidth> mix_context;
  Dense<kContextWidth, kContextWidth + 2 * kRowWidth> context_1;
  Dense<kRowWidth, kContextWidth> value_0;
  Dense<1, kRowWidth> value_1;
  Dense<kRowWidth, kRowWidth> seat_row;
  Dense<kRowWidth, kContextWidth> seat_context;
  Dense<kRowWidth, kStepInputs> seat_step;
  Dense<kRowWidth, kRowWidth> seat_left;
  Dense<kHeadWidth, kRowWidth> seat_1;
  Dense<1, kHeadWidth> seat_2;
  Dense<kRowWidth, kContextWidth> plan_context;
  Dense<kRowWidth, static_cast<int>(kPlanFeatures)> plan_features;
  Dense<kRowWidth, kRowWidth> plan_left;
  Dense<kHeadWidth, kRowWidth> plan_1;
  Dense<1, kHeadWidth> plan_2;
  Dense<kRowWidth, kRowWidth> rest_0;
  Dense<kHeadWidth, kRowWidth> rest_1;
  Dense<1, kHeadWidth> rest_2;
  Eigen::Matrix<float, kRowWidth, Eigen::Dynamic> plan_choice;  ///< by lead choice
  float scale = 1;

  float rest(RowSet left, const ConstColumnsMap& rest_lefts) const;
  /// d of the class's comment, and u of the rows left in `mixed`.
  ContextVector context_of(const Observation& seen,
                           const ConstColumnsMap& token_rows,
                           Columns& mixed) const;
};

std::span<const QLayer> q_layers() {
  using enum QLayer::Bias;
  constexpr int kRowInputs = static_cast<int>(kRowFeatures);
  constexpr int kStepInputs = static_cast<int>(kStepFeatures);
  constexpr int kPlanInputs = static_cast<int>(kPlanFeatures);
  static constexpr std::array kLayers = std::to_array<QLayer>({
      {"row.0", kRowWidth, kRowInputs, kAdded},
      {"row.1", kRowWidth, kRowWidth, kAdded},
      {"token.row", kRowWidth, kRowWidth, kAdded},
      {"token.step", kRowWidth, kStepInputs, kNone},
      {"token.context", kRowWidth, kContextInputs, kNone},
      {"token.out", kRowWidth, kRowWidth, kAdded},
      {"context.0", kContextWidth, 2 * kRowWidth + kContextInputs, kAdded},
      {"mix.row", kRowWidth, kRowWidth, kAdded},
      {"mix.context", kRowWidth, kContextWidth, kNone},
      {"context.1", kContextWidth, kContextWidth + 2 * kRowWidth, kAdded},
      {"value.0", kRowWidth, kContextWidth, kAdded},
      {"value.1", 1, kRowWidth, kAdded},
      {"seat.row", kRowWidth, kRowWidth, kAdded},
      {"seat.context", kRowWidth, kContextWidth, kNone},
      {"seat.step", kRowWidth, kStepInputs, kNone},
      {"seat.left", kRowWidth, kRowWidth, kNone},
      {"seat.1", kHeadWidth, kRowWidth, kAdded},
      {"seat.2", 1, kHeadWidth, kAdded},
      {"plan.context", kRowWidth, kContextWidth, kAdded},
      {"plan.features", kRowWidth, kPlanInputs, kNone},
      {"plan.left", kRowWidth, kRowWidth, kNone},
      {"plan.1", kHeadWidth, kRowWidth, kAdded},
      {"plan.2", 1, kHeadWidth, kAdded},
      {"rest.0", kRowWidth, kRowWidth, kAdded},
      {"rest.1", kHeadWidth, kRowWidth, kAdded},
      {"rest.2", 1, kHeadWidth, kAdded},
  });
  return kLayers;
}

Result<QNetwork> QNetwork::make(const NetworkWeights& weights) {
  if (weights.kind != kWindowNetKind) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("weights of kind {} are not those of a network for windows; expected "
                             "\"{}\"",
                             quoted_for_message(weights.kind),
                             kWindowNetKind)};
  }
  SEPTULE_TRY_STATUS(check_names(weights));
  const auto made = std::make_shared<Layers>();
  SEPTULE_TRY(const double scale, real_setting(weights, "scale", kScaleRange));
  Layers& to = *made;
  to.scale = static_cast<float>(scale);
  SEPTULE_TRY_STATUS(read_layer(weights, "row.0", to.row_0));
  SEPTULE_TRY_STATUS(read_layer(weights, "row.1", to.row_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "token.row", to.token_row));
  SEPTULE_TRY_STATUS(read_layer(weights, "token.step", to.token_step));
  SEPTULE_TRY_STATUS(read_layer(weights, "token.context", to.token_context));
  SEPTULE_TRY_STATUS(read_layer(weights, "token.out", to.token_out));
  SEPTULE_TRY_STATUS(read_layer(weights, "context.0", to.context_0));
  SEPTULE_TRY_STATUS(read_layer(weights, "mix.row", to.mix_row));
  SEPTULE_TRY_STATUS(read_layer(weights, "mix.context", to.mix_context));
  SEPTULE_TRY_STATUS(read_layer(weights, "context.1", to.context_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "value.0", to.value_0));
  SEPTULE_TRY_STATUS(read_layer(weights, "value.1", to.value_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.row", to.seat_row));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.context", to.seat_context));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.step", to.seat_step));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.left", to.seat_left));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.1", to.seat_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "seat.2", to.seat_2));
  SEPTULE_TRY_STATUS(read_layer(weights, "plan.context", to.plan_context));
  SEPTULE_TRY_STATUS(read_layer(weights, "plan.features", to.plan_features));
  SEPTULE_TRY_STATUS(read_layer(weights, "plan.left", to.plan_left));
  SEPTULE_TRY_STATUS(read_layer(weights, "plan.1", to.plan_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "plan.2", to.plan_2));
  SEPTULE_TRY_STATUS(read_layer(weights, "rest.0", to.rest_0));
  SEPTULE_TRY_STATUS(read_layer(weights, "rest.1", to.rest_1));
  SEPTULE_TRY_STATUS(read_layer(weights, "rest.2", to.rest_2));
  const auto choices = static_cast<int>(lead_choices().size());
  SEPTULE_TRY(const Tensor* choice,
              tensor_of_shape(weights, "plan.choice", std::array{choices, kRowWidth}));
  to.plan_choice = Eigen::Map<const Eigen::MatrixXf>(choice->data.data(), kRowWidth, choices);
  return QNetwork(made);
}

void QNetwork::begin(const WindowRows& rows, Scratch& scratch) const {
  const Layers& layers = *layers_;
  Eigen::Matrix<float, static_cast<int>(kRowFeatures), static_cast<int>(kWindowRows)> features;
  features.setZero();
  for (std::size_t row = 0; row < rows.count(); ++row) {
    features.col(static_cast<int>(row)) = as_vector(row_features(rows, row));
  }
  Columns hidden;
  hidden.noalias() = layers.row_0.weight * features;
  hidden = (hidden.colwise() + layers.row_0.bias).cwiseMax(0.0F);
  ColumnsMap e(scratch.rows_.data());
  ColumnsMap token_rows(scratch.token_rows_.data());
  ColumnsMap seat_lefts(scratch.seat_lefts_.data());
  ColumnsMap plan_lefts(scratch.plan_lefts_.data());
  ColumnsMap rest_lefts(scratch.rest_lefts_.data());
  e.noalias() = layers.row_1.weight * hidden;
  e = (e.colwise() + layers.row_1.bias).cwiseMax(0.0F);
  token_rows.noalias() = layers.token_row.weight * e;
  token_rows.colwise() += layers.token_row.bias;
  seat_lefts.noalias() = layers.seat_left.weight * (kLeftScale * e);
  plan_lefts.noalias() = layers.plan_left.weight * (kLeftScale * e);
  rest_lefts.noalias() = layers.rest_0.weight * (kLeftScale * e);
}

float QNetwork::Layers::rest(RowSet left, const ConstColumnsMap& rest_lefts) const {
  RowVector hidden = sum_of(rest_lefts, left);
  hidden = (hidden + rest_0.bias).cwiseMax(0.0F);
  Eigen::Matrix<float, kHeadWidth, 1> head = rest_1.bias;
  head.noalias() += rest_1.weight * hidden;
  return rest_2.weight.row(0).dot(head.cwiseMax(0.0F)) + rest_2.bias[0];
}

ContextVector QNetwork::Layers::context_of(const Observation& seen,
                                           const ConstColumnsMap& token_rows,
                                           Columns& mixed) const {
  const auto context = as_vector(seen.context);
  RowVector base;
  base.noalias() = token_context.weight * context;
  Eigen::Matrix<float, 2 * kRowWidth + kContextInputs, 1> pooled;
  pooled.setZero();
  pooled.tail<kContextInputs>() = context;
  Columns tokens;
  RowVector hidden;
  for_each_row(seen.left, [&](int row) {
    hidden = token_rows.col(row) + base;
    hidden.noalias() += token_step.weight * as_vector(seen.steps[static_cast<std::size_t>(row)]);
    hidden = hidden.cwiseMax(0.0F).eval();
    auto token = tokens.col(row);
    token = token_out.bias;
    token.noalias() += token_out.weight * hidden;
    token = token.cwiseMax(0.0F).eval();
    pooled.head<kRowWidth>() += kLeftScale * token;
    pooled.segment<kRowWidth>(kRowWidth) = pooled.segment<kRowWidth>(kRowWidth).cwiseMax(token);
  });
  Eigen::Matrix<float, kContextWidth + 2 * kRowWidth, 1> again;
  again.setZero();
  ContextVector together = context_0.bias;
  together.noalias() += context_0.weight * pooled;
  again.head<kContextWidth>() = together.cwiseMax(0.0F);
  base = mix_row.bias;
  base.noalias() += mix_context.weight * again.head<kContextWidth>();
  for_each_row(seen.left, [&](int row) {
    auto out = mixed.col(row);
    out = base;
    out.noalias() += mix_row.weight * tokens.col(row);
    out = out.cwiseMax(0.0F).eval();
    again.segment<kRowWidth>(kContextWidth) += kLeftScale * out;
    again.tail<kRowWidth>() = again.tail<kRowWidth>().cwiseMax(out);
  });
  together = context_1.bias;
  together.noalias() += context_1.weight * again;
  return together.cwiseMax(0.0F);
}

void QNetwork::values(const Observation& seen,
                      const Scratch& scratch,
                      std::span<float, kActions> out) const {
  const Layers& layers = *layers_;
  const ConstColumnsMap seat_lefts(scratch.seat_lefts_.data());
  const ConstColumnsMap plan_lefts(scratch.plan_lefts_.data());
  const ConstColumnsMap rest_lefts(scratch.rest_lefts_.data());
  Columns mixed;
  const ContextVector context =
      layers.context_of(seen, ConstColumnsMap(scratch.token_rows_.data()), mixed);
  RowVector hidden = layers.value_0.bias;
  hidden.noalias() += layers.value_0.weight * context;
  const float value = layers.value_1.weight.row(0).dot(hidden.cwiseMax(0.0F)) +
                      layers.value_1.bias[0] + layers.rest(seen.left, rest_lefts);
  RowVector base = seen.is_choosing ? layers.plan_context.bias : layers.seat_row.bias;
  base.noalias() +=
      (seen.is_choosing ? layers.plan_context.weight : layers.seat_context.weight) * context;
  float sum = 0;
  int count = 0;
  Eigen::Matrix<float, kHeadWidth, 1> head;
  const auto note = [&](std::size_t action, const auto& last, float guess) {
    const float advantage = last.weight.row(0).dot(head.cwiseMax(0.0F)) + last.bias[0] +
                            layers.rest(seen.left_after[action], rest_lefts);
    sum += advantage;
    ++count;
    out[action] = advantage / layers.scale + guess;
  };
  if (seen.is_choosing) {
    for (std::size_t i = 0; i < seen.choices.size(); ++i) {
      const std::size_t action = kWindowRows + i;
      hidden = base + layers.plan_choice.col(seen.choices[i]) +
               sum_of(plan_lefts, seen.left_after[action]);
      hidden.noalias() += layers.plan_features.weight * as_vector(seen.plans[i]);
      head = layers.plan_1.bias;
      head.noalias() += layers.plan_1.weight * hidden.cwiseMax(0.0F);
      note(action, layers.plan_2, seen.plans[i][3] / 4 + seen.plans[i][8] / 2);
    }
  } else {
    for_each_row(seen.may_take, [&](int row) {
      const auto action = static_cast<std::size_t>(row);
      hidden = base + sum_of(seat_lefts, seen.left_after[action]);
      hidden.noalias() += layers.seat_row.weight * mixed.col(row);
      hidden.noalias() += layers.seat_step.weight * as_vector(seen.steps[action]);
      head = layers.seat_1.bias;
      head.noalias() += layers.seat_1.weight * hidden.cwiseMax(0.0F);
      note(action, layers.seat_2, seen.steps[action][20] / 4 - seen.steps[action][22] / 2);
    });
  }
  const float shift = (value - sum / static_cast<float>(std::max(count, 1))) / layers.scale;
  for (std::size_t action = 0; action < kActions; ++action) {
    const bool is_allowed =
        seen.is_choosing ? action >= kWindowRows && action - kWindowRows < seen.choices.size()
                         : action < kWindowRows && (seen.may_take >> action & 1U) != 0;
    if (is_allowed) {
      out[action] += shift;
    }
  }
}

}  // namespace septule::learn
