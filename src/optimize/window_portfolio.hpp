#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "base/work_budget.hpp"
#include "optimize/window_optimizer.hpp"

namespace septule::optimize {

/// What one method of a portfolio did. A plain value.
struct MethodOutcome {
  std::string_view name;
  std::optional<Duration> time;            ///< nothing = it failed
  plan::Proof proof = plan::Proof::kNone;  ///< of its answer
  std::optional<Error> error;              ///< why it failed
  std::int64_t units_spent = 0;
};

/// What a portfolio found out. A value.
struct PortfolioReport {
  WindowAnswer answer;                  ///< the best; its certificate has the best lower bound too
  std::size_t winner = 0;               ///< index into `outcomes`
  std::vector<MethodOutcome> outcomes;  ///< by method, in the order of the portfolio
};

/// Method `all`, the guard: runs several methods and delivers the best answer by its time, so that
/// what is delivered is never worse, by the model, than any of them.
///
/// Steps: the methods in order, each with an equal part of the work that is left, and no more than
/// is enough for it; then, with what still is left, a lower bound for every schedule
/// (window_bound.hpp), where bounds are wanted.
/// Ties: an answer with a proof before one without, then the earlier method.
/// Cost: that of all its methods. Owns them; immutable; any thread if they are.
class WindowPortfolio final : public WindowOptimizer {
 public:
  enum class Bounds { kWorkedOut, kNotAsked };
  struct Entry {
    std::unique_ptr<WindowOptimizer> method;
    /// Work that is enough for a window of so many jobs; null = it knows itself when to end.
    std::int64_t (*units_enough)(std::size_t job_count) = nullptr;
  };

  /// At least one method.
  explicit WindowPortfolio(std::vector<Entry> methods, Bounds bounds = Bounds::kWorkedOut);

  std::string_view name() const override { return "all"; }
  /// `method` of the answer is the winner's. Fails as the first method does if all fail.
  Result<WindowAnswer> optimize(const WindowProblem& problem, WorkBudget& budget) const override;
  /// The same with what each method did.
  Result<PortfolioReport> run(const WindowProblem& problem, WorkBudget& budget) const;

 private:
  std::int64_t units_for(std::size_t entry, std::size_t job_count, std::int64_t left) const;

  std::vector<Entry> methods_;
  Bounds bounds_;
};

}  // namespace septule::optimize
