#include "predict/regressed_prediction.hpp"

#include <cmath>

namespace septule::predict {

namespace {

constexpr auto k4g = static_cast<std::size_t>(Slice::k4g);
constexpr auto k3g = static_cast<std::size_t>(Slice::k3g);
constexpr auto k2g = static_cast<std::size_t>(Slice::k2g);
constexpr auto k1g = static_cast<std::size_t>(Slice::k1g);

double propagated(const SlicePrediction& prediction, const LinearSpeed& line, double own_sd) {
  const double by_4g = line.on_4g * prediction.speed_sd[k4g];
  const double by_3g = line.on_3g * prediction.speed_sd[k3g];
  return std::sqrt(by_4g * by_4g + by_3g * by_3g + own_sd * own_sd);
}

}  // namespace

SlicePrediction regressed(const SlicePrediction& prediction, const SliceRegression& regression) {
  SlicePrediction result = prediction;
  const double speed_4g = prediction.speed[k4g];
  const double speed_3g = prediction.speed[k3g];
  result.speed[k2g] = regression.speed_2g(speed_4g, speed_3g);
  result.speed[k1g] = regression.speed_1g(speed_4g, speed_3g);
  result.speed_sd[k2g] = propagated(prediction, regression.to_2g, kRegressionSd2g);
  result.speed_sd[k1g] = propagated(prediction, regression.to_1g, kRegressionSd1g);
  return result;
}

}  // namespace septule::predict
