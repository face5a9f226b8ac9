#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learn/slice_net.hpp"
#include "learn/weights_file.hpp"
#include "predict/mps_matrix.hpp"

// Septule's network once more, by the definition in learn/slice_net.hpp, in plain loops and double.
namespace septule::test {

using Fillers = learn::SliceNet::Fillers;

inline constexpr std::array<int, 3> kPlainLevels = {100, 50, 14};

/// The network by the definition in slice_net.hpp, one column after the other.
class PlainNet {
 public:
  explicit PlainNet(const learn::NetworkWeights& weights) : weights_(weights) {}

  /// Belief by column of `features`.
  std::vector<std::vector<double>> belief(const std::vector<std::vector<double>>& features,
                                          Fillers fillers) const {
    const auto classes = static_cast<std::size_t>(setting("classes"));
    std::vector<std::vector<double>> out(features.size(), std::vector<double>(classes));
    for (int member = 0; member < setting("members"); ++member) {
      const std::string name = "member" + std::to_string(member);
      auto h = features;
      for (auto& column : h) {
        column = rectified(dense(name + ".input", column, bias(name + ".input.bias")));
      }
      for (int layer = 1; layer < setting("layers"); ++layer) {
        h = layered(name + ".layer" + std::to_string(layer), h, layer);
      }
      for (std::size_t column = 0; column < h.size(); ++column) {
        const auto logits = dense(name + ".classes", h[column], bias(name + ".classes.bias"));
        double total = 0;
        for (std::size_t index = 0; index < classes; ++index) {
          total += term(logits[index], index, fillers);
        }
        for (std::size_t index = 0; index < classes; ++index) {
          out[column][index] += term(logits[index], index, fillers) / total / setting("members");
        }
      }
    }
    return out;
  }
  double setting(const std::string& name) const { return weights_.settings.at(name); }
  double value(const std::string& name, std::size_t index) const {
    return static_cast<double>(weights_.find(name)->data[index]);
  }

 private:
  std::vector<double> bias(const std::string& name) const {
    const std::vector<float>& data = weights_.find(name)->data;
    return {data.begin(), data.end()};
  }
  std::vector<double> dense(const std::string& name,
                            const std::vector<double>& in,
                            std::vector<double> out) const {
    for (std::size_t o = 0; o < out.size(); ++o) {
      for (std::size_t i = 0; i < in.size(); ++i) {
        out[o] += value(name + ".weight", o * in.size() + i) * in[i];
      }
    }
    return out;
  }
  static std::vector<double> rectified(std::vector<double> values) {
    for (double& value : values) {
      value = std::max(value, 0.0);
    }
    return values;
  }
  std::vector<std::vector<double>> layered(const std::string& name,
                                           std::vector<std::vector<double>> h,
                                           int layer) const {
    const std::size_t width = h[0].size();
    std::vector<double> mean(width);
    std::vector<double> max(width);
    for (const auto& column : h) {
      for (std::size_t unit = 0; unit < width; ++unit) {
        mean[unit] += column[unit] / static_cast<double>(h.size());
        max[unit] = std::max(max[unit], column[unit]);
      }
    }
    const auto common =
        dense(name + ".max", max, dense(name + ".mean", mean, bias(name + ".bias")));
    for (auto& column : h) {
      const auto update = rectified(dense(name + ".own", column, common));
      for (std::size_t unit = 0; unit < width; ++unit) {
        column[unit] = update[unit] + (layer == 1 ? 0 : column[unit]);
      }
    }
    return h;
  }
  double term(double logit, std::size_t index, Fillers fillers) const {
    const bool counts = fillers == Fillers::kPossible || value("class.is_job", index) != 0;
    return counts ? std::exp(logit / setting("temperature")) : 0;
  }

  const learn::NetworkWeights& weights_;
};

/// Estimates of one quantity from a belief: mean, median, deviation around a point.
struct PlainEstimate {
  std::vector<std::pair<double, double>> points;  ///< value, belief; ascending

  double total() const {
    double sum = 0;
    for (const auto& point : points) {
      sum += point.second;
    }
    return sum;
  }
  double mean() const {
    double sum = 0;
    for (const auto& point : points) {
      sum += point.first * point.second;
    }
    return sum / total();
  }
  double median() const {
    double sum = 0;
    for (const auto& point : points) {
      sum += point.second;
      if (sum >= total() / 2) {
        return point.first;
      }
    }
    return points.back().first;
  }
  double sd(double around, double floor) const {
    double sum = 0;
    for (const auto& point : points) {
      sum += point.second * (point.first - around) * (point.first - around);
    }
    return std::sqrt(sum / total() + floor * floor);
  }
};

inline PlainEstimate estimate_of(const PlainNet& net,
                                 const std::string& tensor,
                                 std::size_t width,
                                 std::size_t slice,
                                 const std::vector<double>& belief) {
  PlainEstimate out;
  for (std::size_t index = 0; index < belief.size(); ++index) {
    const double value = net.value(tensor, index * width + slice);
    if (value > 0) {
      out.points.emplace_back(value, belief[index]);
    }
  }
  std::ranges::sort(out.points);
  return out;
}

/// Mean loss of speed from the next larger slice to this one, among the classes that fit it.
inline double mean_loss_of(const PlainNet& net,
                           std::size_t slice,
                           const std::vector<double>& belief) {
  double sum = 0;
  double total = 0;
  for (std::size_t index = 0; index < belief.size(); ++index) {
    const double speed = net.value("class.speed", index * 5 + slice);
    if (speed > 0) {
      sum += belief[index] * (net.value("class.speed", index * 5 + slice - 1) - speed);
      total += belief[index];
    }
  }
  return sum / total;
}

/// Features of the present columns from the levels 100, 50, 14 only; the first `inputs` of them.
inline std::vector<std::vector<double>> features_of(const predict::MpsMatrix& matrix,
                                                    std::size_t inputs) {
  std::vector<std::vector<double>> out;
  for (std::size_t column = 0; column < predict::kCoRunnersMax; ++column) {
    if (!matrix.is_present(column)) {
      continue;
    }
    std::vector<double> features(15);
    double largest = 0;
    for (const predict::MpsMatrix::Level& level : matrix.levels) {
      const auto at = static_cast<std::size_t>(std::ranges::find(kPlainLevels, level.atp.value()) -
                                               kPlainLevels.begin());
      if (level.step[column].has_value()) {
        features[at] = *level.step[column];
        features[6 + at] = 1;
        largest = std::max(largest, features[at]);
      }
    }
    for (std::size_t at = 0; at < 3; ++at) {
      features[at] /= largest;
      features[3 + at] = features[6 + at] * std::log(std::max(features[at], 0.02));
    }
    features[9] = static_cast<double>(matrix.present_count()) / 7;
    const predict::JobCounters& counters = matrix.counters[column];
    if (counters.power_watts.has_value()) {  // the one that is left out at times
      features[10] = (*counters.sm_percent / 100 - 0.5) / 0.25;
      features[11] = (*counters.memory_percent / 100 - 0.25) / 0.5;
      features[12] = (std::log(*counters.power_watts / 100) - 0.5) / 0.75;
      features[13] = (std::log(*counters.footprint_mib / 1000) - 1.0) / 2.0;
      features[14] = 1;
    }
    features.resize(inputs);
    out.push_back(features);
  }
  return out;
}

/// The belief of a job whose smallest slice is declared.
inline void conditioned(const PlainNet& net,
                        std::optional<ComputeSlices> smallest,
                        std::vector<double>* belief) {
  for (std::size_t index = 0; smallest.has_value() && index < belief->size(); ++index) {
    int last = 7;
    for (std::size_t slice = 0; slice < 5; ++slice) {
      if (net.value("class.speed", index * 5 + slice) > 0) {
        last = predict::kSliceComputeSlices[slice];
      }
    }
    (*belief)[index] *= last == smallest->value() ? 1 : 1e-9;
  }
}

}  // namespace septule::test
