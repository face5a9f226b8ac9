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
  /// With the way back, hand-overs need letters without ages.
  HandOver hand_over = HandOver::kNone;
};

struct GraphAnswer {
  double value = 0;  ///< minus infinity if no state keeps the floors
  /// By step, what is owned in it; only with the way back.
  std::vector<LayoutGraph::Counts> path;
};

/// The joint program of serving.md 2.5: that of layout_program.hpp on a LayoutGraph x the work
/// levels of the tenants tracked. On multisets with levels rounded up: an upper bound on the
/// objective of every plan whose untracked tenants have the terms given. On placed layouts with
/// exact levels: the optimum. With levels of one run: the best plan of its kind, on multisets not a
/// bound. The limit on changes is forgotten. Hand-overs need warm-ups of one step at most.
/// Cost: one unit for each state, combination of levels and step (twice with the way back).
/// Memory: values, and every sqrt(T)-th set of them with the way back. One owner.
class GraphProgram {
 public:
  GraphProgram(const GoodputProblem& problem, const LayoutGraph& graph, GraphInput input);

  /// Values x steps.
  std::int64_t units() const;
  /// The value alone. Nothing if the budget ends.
  std::optional<double> value(WorkBudget& budget);
  /// With the way back; ties: fewest creations, then drops, then the lowest state. No label may
  /// serve in the step of its creation. Nothing if the budget ends.
  std::optional<GraphAnswer> solve(WorkBudget& budget);

 private:
  using Levels = std::vector<int>;  // by tracked tenant
  struct Node {                     // a state with levels
    std::size_t state = 0;
    Levels levels;
  };
  /// How a state's values are laid out: an axis of levels for each tracked tenant.
  struct Axes {
    std::vector<int> widths;
    std::vector<std::size_t> strides;
    std::size_t total = 1;
    std::vector<std::uint8_t> done;  // by value: bit k = tracked tenant k is complete
  };
  struct Step;  // one step back

  void make_axes();
  int width_of(std::size_t state, std::size_t k) const;
  Axes axes_for(std::size_t state) const;
  const LayoutGraph::Trainer* trainer(std::size_t state, std::size_t k) const;
  void begin();
  bool run(int from, int to, WorkBudget& budget, int stretch);
  void run_step(int t, bool keeps_layer);
  void raise(std::size_t to, std::size_t from, double cost);
  void drop();
  void create(int t, bool Letter::* made);
  void hand_over(int t);
  int tracked_by(std::size_t slot) const;
  void move_handed_over(Step& step,
                        const LayoutGraph::Counts& later,
                        const LayoutGraph::Counts& wanted) const;
  void raise_along(
      std::size_t to, std::size_t from, std::size_t k, const std::vector<int>& levels, double cost);
  void add_values(int t);
  void train(std::size_t state, int t);
  void move_levels(std::size_t state, std::size_t k, const std::vector<int>& next);
  void advance();
  bool is_open(int t, std::size_t state) const;
  bool is_counted(int t, std::size_t k) const;
  std::vector<double> worths(StepTerms terms, std::span<const double> rps) const;
  double best(Node& node) const;
  const Axes& axes(std::size_t state) const { return axes_[axes_of_[state]]; }
  std::span<double> row(std::size_t state) {
    return std::span(values_).subspan(offsets_[state], axes(state).total);
  }
  std::span<const double> layer(int t);
  std::vector<LayoutGraph::Counts> trace(Node last);
  Step step_back(int t, const Node& kept);
  bool compare(int t, std::size_t state, const Node& kept, Step& step) const;
  std::vector<int> levels_before(int t, std::size_t state, std::size_t k, const Node& kept) const;
  void offer_levels(int t, std::size_t state, const Node& kept, Step& step);

  const GoodputProblem& problem_;
  const LayoutGraph& graph_;
  GraphInput input_;
  double step_s_;
  std::vector<Axes> axes_;            // distinct ones
  std::vector<std::size_t> axes_of_;  // by state
  std::vector<std::size_t> offsets_;  // by state
  std::size_t value_count_ = 0;
  std::vector<int> run_edge_;                     // by edge: tracked tenant that it retrains; -1
  std::vector<double> values_;                    // by state, then levels
  std::vector<std::vector<std::uint8_t>> open_;   // by step, as far as `beside` needs it
  std::vector<std::vector<double>> layers_;       // after the value of a step, of one stretch
  int layers_from_ = -1;                          // first step of that stretch
  std::vector<std::vector<double>> checkpoints_;  // before a step; empty = not kept
  int stretch_ = 1;
};

}  // namespace septule::serve
