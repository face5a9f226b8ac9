#pragma once

#include <optional>
#include <vector>

#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// What can be said of retraining before anything is planned.

/// By tenant: the step from which the retrained model answers because of a frozen instance.
std::vector<std::optional<int>> frozen_retraining(const GoodputProblem& problem);
/// Whether planning this tenant's retraining can gain anything: there is work, a label that does
/// it, no frozen instance that does it already, time enough, and more accuracy after.
bool is_worth_retraining(const GoodputProblem& problem, int tenant);
/// By tenant: the earliest step from which the retrained model could answer, if it were for
/// nothing; that of frozen_retraining() where that decides.
std::vector<std::optional<int>> free_retraining(const GoodputProblem& problem);
/// Requests that arrive, answered by the better model: a bound that needs no work.
double arrivals_bound(const GoodputProblem& problem);

}  // namespace septule::serve
