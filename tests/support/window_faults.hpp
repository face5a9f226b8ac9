#pragma once

#include <string>

#include "optimize/window_check.hpp"
#include "optimize/window_optimizer.hpp"
#include "plan/schedule_checker.hpp"

namespace septule::test {

/// Everything that the independent checker finds wrong with an answer, one line each. It shares no
/// code with the optimizers; optimize/window_check_test.cpp shows that it is asked the right way.
inline std::string wrong_with(const optimize::WindowProblem& problem,
                              const optimize::WindowAnswer& answer) {
  std::string lines;
  for (const auto& violation : optimize::check_window_answer(problem, answer)) {
    lines += std::string(plan::schedule_violation_name(violation.kind)) + ": " + violation.message +
             "\n";
  }
  return lines;
}

}  // namespace septule::test
