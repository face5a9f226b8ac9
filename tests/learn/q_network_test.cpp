#include "learn/q_network.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.hpp"
#include "learn/window_features.hpp"
#include "learn/window_support.hpp"

namespace septule::learn {
namespace {

using testing::HasSubstr;
using Vector = std::vector<double>;

const test::WindowGpu& a100() {
  static const test::WindowGpu gpu;
  return gpu;
}

/// The network of the class's comment, written down in doubles and loops.
class PlainNetwork {
 public:
  explicit PlainNetwork(const NetworkWeights& weights) : weights_(weights) {}

  std::map<std::size_t, double> values(const Observation& seen, const WindowRows& rows) const {
    std::vector<Vector> e(kWindowRows);
    for (std::size_t row = 0; row < rows.count(); ++row) {
      e[row] = relu(dense("row.1", relu(dense("row.0", as_vector(row_features(rows, row))))));
    }
    const Vector context = as_vector(seen.context);
    std::map<std::size_t, Vector> tokens;
    for (std::size_t row = 0; row < kWindowRows; ++row) {
      if ((seen.left >> row & 1U) != 0) {
        tokens[row] = relu(dense("token.out",
                                 relu(sum({dense("token.row", e[row]),
                                           dense("token.step", as_vector(seen.steps[row])),
                                           dense("token.context", context)}))));
      }
    }
    const Vector c = relu(dense("context.0", joined({pooled(tokens), context})));
    std::map<std::size_t, Vector> mixed;
    for (const auto& [row, token] : tokens) {
      mixed[row] = relu(sum({dense("mix.row", token), dense("mix.context", c)}));
    }
    const Vector d = relu(dense("context.1", joined({c, pooled(mixed)})));
    const double value =
        dense("value.1", relu(dense("value.0", d)))[0] + rest(left_sum(seen.left, e));
    std::map<std::size_t, double> advantage;
    std::map<std::size_t, double> guess;
    for (std::size_t row = 0; row < kWindowRows; ++row) {
      if ((seen.may_take >> row & 1U) != 0) {
        const Vector left = left_sum(seen.left_after[row], e);
        advantage[row] = head("seat",
                              sum({dense("seat.row", mixed[row]),
                                   dense("seat.context", d),
                                   dense("seat.step", as_vector(seen.steps[row])),
                                   dense("seat.left", left)})) +
                         rest(left);
        guess[row] = static_cast<double>(seen.steps[row][20]) / 4 -
                     static_cast<double>(seen.steps[row][22]) / 2;
      }
    }
    for (std::size_t i = 0; i < seen.choices.size(); ++i) {
      const std::size_t action = kWindowRows + i;
      const Vector left = left_sum(seen.left_after[action], e);
      const Tensor& choice = *weights_.find("plan.choice");
      Vector embedded(choice.data.begin() + seen.choices[i] * kRowWidth,
                      choice.data.begin() + (seen.choices[i] + 1) * kRowWidth);
      advantage[action] = head("plan",
                               sum({dense("plan.context", d),
                                    dense("plan.features", as_vector(seen.plans[i])),
                                    embedded,
                                    dense("plan.left", left)})) +
                          rest(left);
      guess[action] =
          static_cast<double>(seen.plans[i][3]) / 4 + static_cast<double>(seen.plans[i][8]) / 2;
    }
    double mean = 0;
    for (const auto& [action, one] : advantage) {
      mean += one / static_cast<double>(advantage.size());
    }
    for (auto& [action, one] : advantage) {
      one = (value + one - mean) / 10 + guess[action];
    }
    return advantage;
  }

 private:
  template <class Values>
  static Vector as_vector(const Values& values) {
    return Vector(values.begin(), values.end());
  }
  static Vector relu(Vector values) {
    for (double& one : values) {
      one = std::max(one, 0.0);
    }
    return values;
  }
  static Vector sum(const std::vector<Vector>& parts) {
    Vector out = parts.front();
    for (std::size_t part = 1; part < parts.size(); ++part) {
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] += parts[part][i];
      }
    }
    return out;
  }
  static Vector joined(const std::vector<Vector>& parts) {
    Vector out;
    for (const Vector& part : parts) {
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }
  static Vector pooled(const std::map<std::size_t, Vector>& columns) {
    Vector mean(kRowWidth);
    Vector most(kRowWidth);
    for (const auto& [row, column] : columns) {
      for (std::size_t i = 0; i < column.size(); ++i) {
        mean[i] += column[i] / 4;
        most[i] = std::max(most[i], column[i]);
      }
    }
    return joined({mean, most});
  }
  static Vector left_sum(RowSet left, const std::vector<Vector>& e) {
    Vector out(kRowWidth);
    for (std::size_t row = 0; row < kWindowRows; ++row) {
      for (std::size_t i = 0; (left >> row & 1U) != 0 && i < out.size(); ++i) {
        out[i] += e[row][i] / 4;
      }
    }
    return out;
  }
  Vector dense(const std::string& name, const Vector& input) const {
    const Tensor& weight = *weights_.find(name + ".weight");
    const Tensor* const bias = weights_.find(name + ".bias");
    Vector out;
    for (std::size_t output = 0; output < static_cast<std::size_t>(weight.shape[0]); ++output) {
      double one = bias == nullptr ? 0 : static_cast<double>(bias->data[output]);
      for (std::size_t i = 0; i < input.size(); ++i) {
        one += static_cast<double>(weight.data[output * input.size() + i]) * input[i];
      }
      out.push_back(one);
    }
    return out;
  }
  double head(const std::string& name, const Vector& hidden) const {
    return dense(name + ".2", relu(dense(name + ".1", relu(hidden))))[0];
  }
  double rest(const Vector& left) const {
    return dense("rest.2", relu(dense("rest.1", relu(dense("rest.0", left)))))[0];
  }

  const NetworkWeights& weights_;
};

TEST(QNetwork, Values_AreThoseOfThePlainNetwork) {
  // Aim: the pass in float32 with shared parts equals the formulas in doubles, at every step of
  // episodes of all sizes.
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const NetworkWeights weights = test::drawn_window_net(seed);
    const auto network = QNetwork::make(weights);
    ASSERT_TRUE(network.has_value()) << network.error().message;
    const PlainNetwork plain(weights);
    const test::GeneratedWindow window(a100(), seed, 1 + seed % kWindowRows);
    test::EpisodeBench bench(a100(), window.problem);
    PartitionEnv env(bench.times);
    QNetwork::Scratch scratch;
    network->begin(bench.rows, scratch);
    Observation seen;
    while (!env.is_over()) {
      observe(env, seen);
      std::array<float, kActions> values{};
      network->values(seen, scratch, values);
      const auto expected = plain.values(seen, bench.rows);
      ASSERT_FALSE(expected.empty());
      for (const auto& [action, value] : expected) {
        EXPECT_NEAR(static_cast<double>(values[action]), value, 1e-5);
      }
      const std::size_t action = expected.begin()->first;
      if (seen.is_choosing) {
        (void)env.choose(seen.choices[action - kWindowRows]);
      } else {
        (void)env.take(action);
      }
    }
  }
}

TEST(QNetwork, Weights_OfAnotherFormAreRefused) {
  // Aim: each fault is named in one sentence: kind, setting, tensor missing, shape, one too many.
  const NetworkWeights good = test::drawn_window_net(1);
  ASSERT_TRUE(QNetwork::make(good).has_value());
  const auto fault_of = [](const NetworkWeights& weights) {
    const auto made = QNetwork::make(weights);
    EXPECT_FALSE(made.has_value());
    return made.has_value() ? std::string() : made.error().message;
  };
  NetworkWeights bad = good;
  bad.kind = "slice-net";
  EXPECT_THAT(fault_of(bad), HasSubstr("\"slice-net\""));
  bad = good;
  bad.settings.clear();
  EXPECT_THAT(fault_of(bad), HasSubstr("\"scale\""));
  bad = good;
  bad.settings["scale"] = 0;
  EXPECT_THAT(fault_of(bad), HasSubstr("\"scale\""));
  bad = good;
  bad.tensors.front().name = "extra";
  EXPECT_THAT(fault_of(bad), HasSubstr("\"extra\""));
  for (std::size_t i = 0; i < good.tensors.size(); ++i) {
    bad = good;
    bad.tensors.erase(bad.tensors.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(fault_of(bad), HasSubstr(good.tensors[i].name));
    bad = good;
    bad.tensors[i].shape.back() += 1;
    EXPECT_THAT(fault_of(bad), HasSubstr(good.tensors[i].name));
  }
}

TEST(QNetwork, Layers_TakeWhatIsSeen) {
  // Aim: the list of layers that training and inference share has each name once.
  std::vector<std::string_view> names;
  for (const QLayer& layer : q_layers()) {
    EXPECT_EQ(std::ranges::count(names, layer.name), 0) << layer.name;
    names.push_back(layer.name);
  }
  EXPECT_EQ(names.size(), 26U);
}

}  // namespace
}  // namespace septule::learn
