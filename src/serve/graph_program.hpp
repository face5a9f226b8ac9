#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/work_budget.hpp"
#include "serve/layout_graph.hpp"
#include "serve/step_terms.hpp"
#include "serve/work_levels.hpp"

namespace septule::serve {

/// What is asked of the program on a graph.
struct GraphInput {
  std::vector<StepTerms> steps;     ///< as make_step_terms() gives them; tracked tenants untrained
  std::vector<WorkLevels> tracked;  ///< whose retraining is planned; their labels are in the graph
  /// Instances of each size that are set beforehand beside the states, by step; empty = none.
  std::vector<SizeTable<int>> beside;
};

struct GraphAnswer {
  double value = 0;  ///< minus infinity if no state keeps the floors
  /// By step, what is owned in it; only with the way back.
  std::vector<LayoutGraph::Counts> path;
};

/// The joint program of serving.md 2.5: that of layout_program.hpp on a LayoutGraph x the work
/// levels of the tenants tracked. On multisets with levels rounded up: an upper bound on the
/// objective of every plan whose untracked tenants have the terms given. On placed layouts with
/// exact levels: the optimum. The limit on changes is forgotten.
/// Cost: one unit for each state, combination of levels and step (twice with the way back).
/// Memory: values, and every sqrt(T)-th set of them with the way back. One owner.
class GraphProgram {
 public:
  GraphProgram(const GoodputProblem& problem, const LayoutGraph& graph, GraphInput input);

  /// States x combinations of levels x steps.
  std::int64_t units() const;
  /// The value alone. Nothing if the budget ends.
  std::optional<double> value(WorkBudget& budget);
  /// With the way back; ties: fewest creations, then drops, then the lowest state. No label may
  /// serve in the step of its creation. Nothing if the budget ends.
  std::optional<GraphAnswer> solve(WorkBudget& budget);

 private:
  struct Node {  // a state with levels
    std::size_t state = 0;
    std::size_t levels = 0;
  };
  struct Kept {  // what must be there at the begin of a step
    LayoutGraph::Counts counts;
    std::size_t levels = 0;
  };
  struct Step;  // one step back

  void begin();
  bool run(int from, int to, WorkBudget& budget, int stretch);
  void run_step(int t, bool keeps_layer);
  void raise(std::size_t to, std::size_t from, double cost);
  void drop();
  void create(int t, bool Letter::* made);
  void add_values(int t);
  void train(std::size_t state, int t);
  void move_levels(std::span<double> values, std::size_t k, const std::vector<int>& next) const;
  void advance();
  bool is_open(int t, std::size_t state);
  std::vector<double> worths(StepTerms terms, std::span<const double> rps) const;
  double best(Node& node) const;
  std::span<double> row(std::size_t state) {
    return std::span(values_).subspan(state * width_, width_);
  }
  std::span<const double> layer(int t);
  std::vector<LayoutGraph::Counts> trace(const Node& last);
  Step step_back(int t, const Kept& kept);
  void offer_levels(int t, std::size_t state, const Kept& kept, Step& step);
  bool compare(int t, std::size_t state, const Kept& kept, Step& step) const;

  const GoodputProblem& problem_;
  const LayoutGraph& graph_;
  GraphInput input_;
  double step_s_;
  std::size_t width_ = 1;                        // combinations of levels
  std::vector<std::size_t> strides_;             // of a tracked tenant's level
  std::vector<unsigned> done_;                   // by combination: bit k = tracked tenant k is done
  std::vector<double> values_;                   // by state, then combination
  std::vector<std::vector<std::uint8_t>> open_;  // by step, as far as `beside` needs it
  std::vector<std::vector<double>> layers_;      // after the value of a step; empty = not kept
  std::vector<std::vector<double>> checkpoints_;  // before a step; empty = not kept
  int stretch_ = 1;
};

}  // namespace septule::serve
