#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/result.hpp"
#include "optimize/window_heuristics.hpp"
#include "optimize/window_optimizer.hpp"
#include "optimize/window_portfolio.hpp"

namespace septule::optimize {

/// What methods are made with. A plain value; pointers outlive the method.
struct WindowMethodSetup {
  /// Method `rl`, made by the caller (networks are above this layer); null = there is none.
  const WindowOptimizer* learned = nullptr;
  std::size_t beam_width = BeamOptimizer::kWidthDefault;  ///< 1 to BeamOptimizer::kWidthMax
};

/// A method by name, as `septule window --method` lists it.
struct WindowMethod {
  std::string_view name;       ///< "mig-only"
  std::string_view summary;    ///< half a line
  std::size_t jobs_max = 0;    ///< 0 = windows of any size
  bool needs_learned = false;  ///< wants WindowMethodSetup::learned
  std::unique_ptr<WindowOptimizer> (*make)(const WindowMethodSetup& setup) = nullptr;
  /// Work that is enough for a window of so many jobs; null = it knows itself when to end, and more
  /// work does no harm.
  std::int64_t (*units_enough)(std::size_t job_count) = nullptr;
};
/// In the order of the documentation; `all` last.
std::span<const WindowMethod> window_methods();
/// kNotFound, naming near names.
Result<const WindowMethod*> find_window_method(std::string_view name);
/// kNotFound as find_window_method(); kInvalidInput for a beam width out of range, and for `rl`
/// without a learned method.
Result<std::unique_ptr<WindowOptimizer>> make_window_method(std::string_view name,
                                                            const WindowMethodSetup& setup);
/// Method `all`, to be asked for what each method did: every other method of the list (`rl` only
/// where there is one). Fails as make_window_method() does.
Result<std::unique_ptr<WindowPortfolio>> make_window_portfolio(const WindowMethodSetup& setup);

}  // namespace septule::optimize
