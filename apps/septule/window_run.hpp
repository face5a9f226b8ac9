#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "gpu/inventory.hpp"
#include "gpu/sharing_template.hpp"
#include "learn/window_agent.hpp"
#include "optimize/window_methods.hpp"
#include "optimize/window_optimizer.hpp"
#include "septule/app.hpp"
#include "septule/window_setup.hpp"

namespace septule::app {

/// A window as it was asked for: the question, with everything that it points to. Moving it keeps
/// the pointers valid.
struct WindowQuestion {
  const gpu::Geometry* geometry = nullptr;
  gpu::ObservedGpu gpu;  ///< as it is now: of --state, or fresh; nothing of it is in use
  std::unique_ptr<gpu::SharingCatalogue> catalogue;
  std::unique_ptr<optimize::SwitchCosts> costs;
  WindowJobs input;
  optimize::WindowProblem problem;
};

/// From the command line and the file that it names. Notes are said.
Result<WindowQuestion> load_window(const Invocation& invocation, const Context& context);

/// Method `rl` with the weights of --weights, or the built-in ones; null where none are built in
/// and no method asked for needs it.
Result<std::unique_ptr<learn::WindowAgent>> load_agent(const Invocation& invocation);

/// What was found: the answer delivered, and what every method did if several were asked.
struct WindowFinding {
  optimize::WindowAnswer answer;
  std::vector<optimize::MethodOutcome> outcomes;  ///< empty for a single method
  /// For method `rl` alone: what the guard would have delivered; empty = not asked, or no answer.
  std::optional<optimize::WindowAnswer> guard;
};
/// Asks the method of --method and has the independent checker look at the answer.
Result<WindowFinding> find_window_answer(const Invocation& invocation,
                                         const WindowQuestion& question,
                                         const optimize::WindowOptimizer* learned);

}  // namespace septule::app
