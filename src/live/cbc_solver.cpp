#include "live/cbc_solver.hpp"

#ifdef SEPTULE_HAS_CBC

#include <algorithm>
#include <chrono>
#include <cmath>
#include <dlfcn.h>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

// The headers of COIN-OR are not written for our warnings; CMake names their directory as a system
// one.
#include <CbcHeuristic.hpp>
#include <CbcHeuristicDiveCoefficient.hpp>
#include <CbcHeuristicFPump.hpp>
#include <CbcHeuristicGreedy.hpp>
#include <CbcHeuristicLocal.hpp>
#include <CbcHeuristicRINS.hpp>
#include <CbcModel.hpp>
#include <CglClique.hpp>
#include <CglFlowCover.hpp>
#include <CglGomory.hpp>
#include <CglKnapsackCover.hpp>
#include <CglMixedIntegerRounding2.hpp>
#include <CglPreProcess.hpp>
#include <CglProbing.hpp>
#include <CglTwomir.hpp>
#include <CglZeroHalf.hpp>
#include <CoinError.hpp>
#include <OsiClpSolverInterface.hpp>

#include "base/check.hpp"
#include "port/milp_check.hpp"

namespace septule::live {

namespace {

using port::MilpGoal;
using port::MilpLimits;
using port::MilpOutcome;
using port::MilpProblem;
using port::MilpSolution;

/// How long a solve has taken, by the clock on the wall.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

double sign_of(const MilpProblem& problem) {
  return problem.goal == MilpGoal::kMinimise ? 1 : -1;
}

/// As far as CBC's tolerances tell.
bool is_equal(double a, double b) {
  return std::abs(a - b) <= port::kMilpTolerance * std::max(1.0, std::abs(a));
}

double coin_bound(double bound) {
  return std::clamp(bound, -COIN_DBL_MAX, COIN_DBL_MAX);
}

/// The problem as one to minimise; whole columns get whole bounds.
void load(const MilpProblem& problem, OsiClpSolverInterface& solver) {
  solver.messageHandler()->setLogLevel(0);
  solver.getModelPtr()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  CoinPackedMatrix matrix(false, 0, 0);
  matrix.setDimensions(0, static_cast<int>(problem.columns.size()));
  std::vector<int> indices;
  std::vector<double> coefficients;
  std::vector<double> row_lower;
  std::vector<double> row_upper;
  std::vector<CoinBigIndex> starts = {0};
  for (const port::MilpRow& row : problem.rows) {
    for (const port::MilpEntry& entry : row.entries) {
      indices.push_back(entry.column);
      coefficients.push_back(entry.coefficient);
    }
    starts.push_back(static_cast<CoinBigIndex>(indices.size()));
    row_lower.push_back(coin_bound(row.lower));
    row_upper.push_back(coin_bound(row.upper));
  }
  matrix.appendRows(
      static_cast<int>(problem.rows.size()), starts.data(), indices.data(), coefficients.data());
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> costs;
  std::vector<int> integers;
  for (const port::MilpColumn& column : problem.columns) {
    if (column.is_integer) {
      integers.push_back(static_cast<int>(lower.size()));
    }
    lower.push_back(coin_bound(column.is_integer ? std::ceil(column.lower) : column.lower));
    upper.push_back(coin_bound(column.is_integer ? std::floor(column.upper) : column.upper));
    costs.push_back(sign_of(problem) * column.cost);
  }
  solver.loadProblem(
      matrix, lower.data(), upper.data(), costs.data(), row_lower.data(), row_upper.data());
  solver.setInteger(integers.data(), static_cast<int>(integers.size()));
  solver.setObjSense(1);
}

/// One search: from the problem through the presolve and CBC back to a judged solution.
class Search {
 public:
  Search(const MilpProblem& problem, const MilpLimits& limits, std::span<const double> seed)
      : problem_(problem), limits_(limits), sign_(sign_of(problem)) {
    if (!seed.empty()) {
      std::vector<double> values(seed.begin(), seed.end());
      port::tidy_values(problem, values);
      keep(std::move(values));
    }
  }

  Result<MilpSolution> run();

 private:
  double seconds_left() const {
    return std::max(0.0, limits_.elapsed.to_seconds() - watch_.seconds());
  }
  /// Takes a solution if it is one and better than what there is.
  bool keep(std::vector<double> values);
  /// As `keep`; if rounding broke a row, the continuous columns are worked out anew.
  bool keep_repaired(const double* values);
  Result<MilpSolution> run_unbounded() const;
  /// False where the presolve came to nothing.
  bool search_presolved(OsiClpSolverInterface& original);
  /// `process` made `solver` out of the problem; null: `solver` is the problem.
  void branch_and_bound(const OsiSolverInterface& solver, CglPreProcess* process);
  void take_bound(const CbcModel& model, std::optional<double> found);
  void set_up(CbcModel& model) const;
  void seed_model(CbcModel& model, CglPreProcess* process) const;
  /// The answer from `best_` and `bound_`.
  MilpSolution answer(MilpOutcome without_solution) const;

  const MilpProblem& problem_;
  const MilpLimits& limits_;
  const double sign_;
  Stopwatch watch_;
  std::vector<double> best_;
  double best_objective_ = 0;    // as minimised
  std::optional<double> bound_;  // as minimised
  std::int64_t nodes_ = 0;
  bool is_finished_ = false;
  bool has_found_ = false;  // CBC says that it has a solution
};

bool Search::keep(std::vector<double> values) {
  if (!port::check_values(problem_, values)) {
    return false;
  }
  const double objective = sign_ * port::objective_of(problem_, values);
  if (best_.empty() || objective < best_objective_) {
    best_objective_ = objective;
    best_ = std::move(values);
  }
  return true;
}

bool Search::keep_repaired(const double* values) {
  std::vector<double> tidied(values, values + problem_.columns.size());
  port::tidy_values(problem_, tidied);
  if (keep(tidied)) {
    return true;
  }
  OsiClpSolverInterface solver;
  load(problem_, solver);
  for (std::size_t column = 0; column < tidied.size(); ++column) {
    if (problem_.columns[column].is_integer) {
      const double value = std::clamp(
          tidied[column], problem_.columns[column].lower, problem_.columns[column].upper);
      solver.setColBounds(static_cast<int>(column), value, value);
    }
  }
  solver.initialSolve();
  if (!solver.isProvenOptimal()) {
    return false;
  }
  const double* const repaired = solver.getColSolution();
  tidied.assign(repaired, repaired + problem_.columns.size());
  port::tidy_values(problem_, tidied);
  return keep(std::move(tidied));
}

MilpSolution Search::answer(MilpOutcome without_solution) const {
  MilpSolution solution;
  solution.nodes = nodes_;
  solution.outcome = without_solution;
  if (!best_.empty()) {
    solution.values = best_;
    solution.objective = port::objective_of(problem_, best_);
    solution.outcome = MilpOutcome::kFeasible;
    if (bound_ && (port::is_within_gap(best_objective_, *bound_, limits_) ||
                   (is_finished_ && is_equal(best_objective_, *bound_)))) {
      solution.outcome = MilpOutcome::kOptimal;
    }
  }
  if (bound_ && solution.outcome != MilpOutcome::kInfeasible) {
    solution.bound = sign_ * (best_.empty() ? *bound_ : std::min(*bound_, best_objective_));
  }
  return solution;
}

/// The linear program is unbounded: so is the problem, unless it has no solution at all.
Result<MilpSolution> Search::run_unbounded() const {
  MilpSolution solution;
  solution.outcome = MilpOutcome::kUnbounded;
  if (!best_.empty()) {
    return solution;
  }
  MilpProblem without_costs = problem_;
  for (port::MilpColumn& column : without_costs.columns) {
    column.cost = 0;
  }
  SEPTULE_TRY(const MilpSolution any, Search(without_costs, limits_, {}).run());
  solution.nodes = any.nodes;
  if (any.values.empty()) {
    solution.outcome = any.outcome;
  }
  return solution;
}

/// The cut generators and heuristics that CBC's own program switches on, with its frequencies:
/// -98 = in the tree as long as a generator moves the bound.
void Search::set_up(CbcModel& model) const {
  constexpr int kWhileUseful = -98;
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxPassRoot(1);
  probing.setMaxProbe(10);
  probing.setMaxProbeRoot(50);
  probing.setMaxLook(10);
  probing.setMaxLookRoot(50);
  probing.setMaxElements(200);
  probing.setMaxElementsRoot(300);
  probing.setRowCuts(3);
  model.addCutGenerator(&probing, kWhileUseful, "probing");
  CglGomory gomory;
  gomory.setLimitAtRoot(1000);
  gomory.setLimit(50);
  model.addCutGenerator(&gomory, kWhileUseful, "gomory");
  CglKnapsackCover knapsack;
  model.addCutGenerator(&knapsack, kWhileUseful, "knapsack");
  CglClique clique(false, true);
  clique.setStarCliqueReport(false);
  clique.setRowCliqueReport(false);
  clique.setMinViolation(0.1);
  model.addCutGenerator(&clique, kWhileUseful, "clique");
  CglMixedIntegerRounding2 rounding(1, true, 1);
  rounding.setDoPreproc(1);
  model.addCutGenerator(&rounding, kWhileUseful, "mixed-integer-rounding");
  CglFlowCover flow;
  model.addCutGenerator(&flow, kWhileUseful, "flow-cover");
  CglTwomir twomir;
  twomir.setMaxElements(250);
  model.addCutGenerator(&twomir, kWhileUseful, "two-mir");
  CglZeroHalf zero_half;
  model.addCutGenerator(&zero_half, kWhileUseful, "zero-half");

  CbcRounding round(model);
  model.addHeuristic(&round, "rounding");
  CbcHeuristicFPump pump(model);
  pump.setMaximumPasses(30);
  pump.setMaximumTime(std::max(0.1, 0.2 * limits_.elapsed.to_seconds()));
  model.addHeuristic(&pump, "feasibility-pump");
  CbcHeuristicGreedyCover cover(model);
  model.addHeuristic(&cover, "greedy-cover");
  CbcHeuristicLocal combine(model);
  combine.setSearchType(1);
  model.addHeuristic(&combine, "combine");
  CbcHeuristicDiveCoefficient dive(model);
  model.addHeuristic(&dive, "dive");
  CbcHeuristicRINS neighbourhood(model);
  model.addHeuristic(&neighbourhood, "rins");

  const int columns = model.getNumCols();
  model.setMaximumCutPassesAtRoot(columns < 500 ? -100 : columns < 5000 ? 100 : 20);
  model.setMaximumCutPasses(4);
  const double objective = std::abs(model.solver()->getObjValue());
  model.setMinimumDrop(std::min(1.0, 1e-3 * objective + 1e-4));
  model.setNumberStrong(5);
  model.setNumberBeforeTrust(10);
}

/// What is known goes in as the cut-off. The presolve removes and merges columns, so the solution
/// itself goes in only if what is left of it is one.
void Search::seed_model(CbcModel& model, CglPreProcess* process) const {
  if (best_.empty()) {
    return;
  }
  const int columns = model.getNumCols();
  const int* const original = process != nullptr ? process->originalColumns() : nullptr;
  std::vector<double> values;
  for (int column = 0; column < columns; ++column) {
    const int source = original != nullptr ? original[column] : column;
    const bool is_known = source >= 0 && std::cmp_less(source, best_.size());
    values.push_back(is_known ? best_[static_cast<std::size_t>(source)] : 0);
  }
  model.setBestSolution(values.data(), columns, best_objective_, true);
  model.setCutoff(std::min(model.getCutoff(), best_objective_));
}

/// A tree that was searched to its end proves the best that was known: what was found in it, or
/// the seed.
void Search::take_bound(const CbcModel& model, std::optional<double> found) {
  constexpr int kFinished = 0;
  constexpr int kStoppedByGap = 2;
  constexpr double kHuge = 1e40;
  is_finished_ = model.status() == kFinished;
  std::optional<double> proved;
  const double possible = model.getBestPossibleObjValue();
  if (std::abs(possible) < kHuge) {
    proved = possible;
  }
  if (is_finished_ && model.secondaryStatus() != kStoppedByGap) {
    proved = found;
    if (!best_.empty() && (!found || best_objective_ < *found)) {
      proved = best_objective_;
    }
  }
  if (proved) {
    bound_ = std::max(bound_.value_or(*proved), *proved);
  }
}

void Search::branch_and_bound(const OsiSolverInterface& solver, CglPreProcess* process) {
  CbcModel model(solver);
  model.setLogLevel(0);
  model.messageHandler()->setLogLevel(0);
  model.solver()->messageHandler()->setLogLevel(0);
  model.setUseElapsedTime(true);
  model.setMaximumSeconds(seconds_left());
  model.setMaximumNodes(static_cast<int>(
      std::clamp<std::int64_t>(limits_.nodes, 0, std::numeric_limits<int>::max())));
  model.setAllowableGap(limits_.gap_absolute);
  model.setAllowableFractionGap(limits_.gap_relative);
  model.setCutoffIncrement(1e-7);
  model.setNumberThreads(0);
  model.initialSolve();
  set_up(model);
  seed_model(model, process);
  model.branchAndBound();
  nodes_ += model.getNodeCount();
  std::optional<double> found;
  if (model.bestSolution() != nullptr) {
    has_found_ = true;
    found = model.getObjValue();
    if (process != nullptr) {
      process->postProcess(*model.solver());
      keep_repaired(process->originalModel()->getColSolution());
    } else {
      keep_repaired(model.bestSolution());
    }
  }
  take_bound(model, found);
}

bool Search::search_presolved(OsiClpSolverInterface& original) {
  constexpr int kPasses = 10;
  constexpr int kTuning = 6;
  CglPreProcess process;
  process.messageHandler()->setLogLevel(0);
  process.setTimeLimit(seconds_left(), true);
  CglProbing probing;
  probing.setUsingObjective(1);
  probing.setMaxPass(1);
  probing.setMaxPassRoot(1);
  probing.setMaxProbeRoot(std::min(original.getNumCols(), 3000));
  probing.setMaxElements(100);
  probing.setMaxElementsRoot(200);
  probing.setMaxLookRoot(50);
  probing.setRowCuts(3);
  process.addCutGenerator(&probing);
  OsiSolverInterface* const reduced = process.preProcessNonDefault(original, 0, kPasses, kTuning);
  if (reduced == nullptr) {
    return false;
  }
  reduced->messageHandler()->setLogLevel(0);
  if (reduced->getNumCols() == 0) {
    process.postProcess(*reduced);
    is_finished_ = keep_repaired(original.getColSolution());
    bound_ = is_finished_ ? best_objective_ : bound_;
    return is_finished_;
  }
  branch_and_bound(*reduced, &process);
  return true;
}

Result<MilpSolution> Search::run() {
  OsiClpSolverInterface original;
  load(problem_, original);
  original.initialSolve();
  if (original.isProvenPrimalInfeasible()) {
    return answer(MilpOutcome::kInfeasible);
  }
  if (original.isProvenDualInfeasible()) {
    return run_unbounded();
  }
  if (!original.isProvenOptimal()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("CBC could not solve the linear program of {} rows and {} columns",
                             problem_.rows.size(),
                             problem_.columns.size())};
  }
  bound_ = original.getObjValue();
  std::vector<double> relaxed(original.getColSolution(),
                              original.getColSolution() + original.getNumCols());
  port::tidy_values(problem_, relaxed);
  keep(std::move(relaxed));
  if (!best_.empty() && port::is_within_gap(best_objective_, *bound_, limits_)) {
    return answer(MilpOutcome::kUnknown);
  }
  OsiClpSolverInterface copy(original);
  if (!search_presolved(copy) || (is_finished_ && best_.empty())) {
    // The presolve is not the judge of what has no solution.
    is_finished_ = false;
    branch_and_bound(original, nullptr);
  }
  if (has_found_ && best_.empty()) {
    return Error{ErrorCode::kFailed,
                 fmt::format("CBC's solution of the program of {} rows and {} columns breaks a row",
                             problem_.rows.size(),
                             problem_.columns.size())};
  }
  return answer(is_finished_ ? MilpOutcome::kInfeasible : MilpOutcome::kUnknown);
}

/// COIN-OR calls LAPACK; OpenBLAS would have threads of its own wait for work by spinning, and
/// several solvers at once stand still. Nothing to do where another BLAS is in use.
void use_one_blas_thread() {
  using SetThreads = void (*)(int);
  if (void* const symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"); symbol != nullptr) {
    reinterpret_cast<SetThreads>(symbol)(1);
  }
}

Error broken(const MilpProblem& problem, std::string_view why) {
  return Error{ErrorCode::kFailed,
               fmt::format("CBC failed on the program of {} rows and {} columns: {}",
                           problem.rows.size(),
                           problem.columns.size(),
                           why)};
}

Result<MilpSolution> solve_guarded(const MilpProblem& problem,
                                   const MilpLimits& limits,
                                   std::span<const double> seed) {
  try {
    return Search(problem, limits, seed).run();
  } catch (const CoinError& error) {
    return broken(problem, error.message());
  } catch (const std::exception& error) {
    return broken(problem, error.what());
  }
}

}  // namespace

CbcSolver::CbcSolver() {
  use_one_blas_thread();
}

Result<MilpSolution> CbcSolver::solve(const MilpProblem& problem,
                                      const MilpLimits& limits,
                                      std::span<const double> seed) {
  SEPTULE_TRY_STATUS(port::validate(problem));
  SEPTULE_TRY_STATUS(port::validate_seed(problem, seed));
  if (const auto known = port::solution_without_columns(problem)) {
    return *known;
  }
  std::optional<Result<MilpSolution>> answer;
  try {
    const std::jthread worker([&] { answer = solve_guarded(problem, limits, seed); });
  } catch (const std::system_error& error) {
    return broken(problem, error.what());
  }
  return checked_value(std::move(answer), "the worker has answered");
}

}  // namespace septule::live

#endif
