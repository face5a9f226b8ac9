#pragma once

#include <vector>

#include "port/milp_solver.hpp"
#include "serve/goodput_problem.hpp"

namespace septule::serve {

/// How large the program of a window is.
struct WindowProgramSizes {
  int columns = 0;
  int integers = 0;
  int rows = 0;
};

/// The window ILP of serving.md 2.3 for one GPU: a mixed-integer program whose solutions are the
/// plans of a GoodputProblem. With n = placements x labels x steps, m tenants and T steps it has
/// 3 n + m T columns (with retraining 3 n + 4 m T), n (n + m T) of them whole, and for warm-ups of
/// one step 8 T + 3 n - 2 n / T + m T rows on seven-slice GPUs (with retraining 6 m T - m in place
/// of m T, and T more for each tenant with a retraining label).
/// Columns, each by step, label and placement: owned (0 or 1), created, ready; by step and tenant:
/// requests served by the old model, and where anything retrains by the new model, work done,
/// retrained (0 or 1). What is created in step 0 is what is owned then and was not in force.
/// A terminal value adds one step in which all that is owned at the end is ready.
/// Exact but for one case: a retraining that lowers the accuracy may be left unfinished here; then
/// the program's value is an upper bound only.
/// A plain value beside the problem, which must outlive it.
class WindowProgram {
 public:
  /// `problem` is valid.
  explicit WindowProgram(const GoodputProblem& problem);

  const port::MilpProblem& milp() const { return milp_; }
  WindowProgramSizes sizes() const;
  /// What is owned in each step. `values`: a solution of milp().
  std::vector<LabelledLayout> layouts(const std::vector<double>& values) const;
  /// A plan as a solution: the seed of a solver. The plan must have a layout for each step.
  std::vector<double> values(const GoodputPlan& plan) const;

 private:
  struct Instance {
    int placement = 0;
    int label = 0;
    int step = 0;
  };
  enum class Part { kOwned, kCreated, kReady };
  enum class Served { kOld, kNew, kWork, kRetrained };

  int column(Part part, const Instance& at) const;
  int column(Served part, int tenant, int step) const;
  bool is_initial(const Instance& at) const;
  /// Whether an instance of this label does anything on this placement.
  bool is_useful(const Instance& at) const;
  void for_each_instance(int step, const auto& visit) const;
  void add_instance_columns();
  void add_tenant_columns();
  void add_placement_rows(int step);
  void add_creation_rows(int step);
  void add_readiness_rows(int step);
  void add_capability_rows(int step);
  void add_retraining_rows(int step);
  void add_single_retraining_rows(int step);
  void add_option_rows(int step);
  std::vector<port::MilpEntry> creation(const Instance& at) const;
  void find_illegal_sets();
  void value_instances(const GoodputPlan& plan, std::vector<double>& values) const;
  void value_tenants(std::vector<double>& values) const;

  const GoodputProblem* problem_;
  port::MilpProblem milp_;
  int placements_;
  int labels_;
  int tenants_;
  int steps_;         // of the window
  int served_steps_;  // with the terminal one
  bool has_retraining_;
  std::vector<char> in_force_;  // by label and placement
  // Sets of placements that are disjoint but not legal together, least ones only.
  std::vector<std::vector<int>> illegal_sets_;
};

}  // namespace septule::serve
