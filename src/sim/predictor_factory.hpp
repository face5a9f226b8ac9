#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "predict/predictor.hpp"
#include "predict/speed_book.hpp"
#include "sched/policy_registry.hpp"

namespace septule::sim {

/// Makes the predictors of simulated runs, for policies that predict (PolicyVariant::has_error).
/// The simulator knows no learned models: whoever wires it hands them in. Const: many runs may ask
/// at once.
class PredictorFactory {
 public:
  PredictorFactory() = default;
  PredictorFactory(const PredictorFactory&) = delete;
  PredictorFactory& operator=(const PredictorFactory&) = delete;
  virtual ~PredictorFactory() = default;

  /// `book` outlives the predictor. Fails with kInvalidInput for a GPU model that it cannot tell
  /// of.
  virtual Result<std::unique_ptr<predict::Predictor>> make(const predict::SpeedBook& book,
                                                           const sched::PolicyVariant& policy,
                                                           std::uint64_t seed) const = 0;
};

}  // namespace septule::sim
