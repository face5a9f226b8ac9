#include "optimize/moldable_batches.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "optimize/moldable_far.hpp"
#include "optimize/moldable_tree.hpp"

namespace septule::optimize {

namespace {

constexpr int kRoundsMax = 20;

/// A block as its timeline needs it.
struct Load {
  std::size_t node = 0;
  std::int64_t time = 0;
};

/// The timeline of blocks in the order in which they become free. Written for inner loops.
class BlockPass {
 public:
  BlockPass(const MoldableGpu& gpu, std::span<const Load> loads) : gpu_(gpu), loads_(loads) {
    end_.fill(kNone);
    placed_.assign(loads.size(), false);
    for (std::size_t count = 0; count < loads.size(); ++count) {
      place(next());
    }
  }

  std::int64_t makespan() const { return makespan_; }
  /// The longest time that a place waited for its next block.
  std::int64_t longest_wait() const { return longest_wait_; }
  const std::vector<std::size_t>& order() const { return order_; }

 private:
  static constexpr std::int64_t kNone = -1;

  bool overlap(std::size_t a, std::size_t b) const {
    return (gpu_.node(a).memory_mask & gpu_.node(b).memory_mask) != 0;
  }

  std::int64_t free_at(std::size_t node) const {
    std::int64_t latest = 0;
    for (std::size_t other = 0; other < gpu_.nodes().size(); ++other) {
      if (end_[other] != kNone && overlap(node, other)) {
        latest = std::max(latest, end_[other]);
      }
    }
    return latest;
  }

  std::size_t next() const {
    std::optional<std::size_t> best;
    std::int64_t best_free = 0;
    std::uint32_t before = 0;  // the places of blocks that come first and are not placed
    for (std::size_t block = 0; block < loads_.size(); ++block) {
      if (placed_[block]) {
        continue;
      }
      const std::uint32_t mask = gpu_.node(loads_[block].node).memory_mask;
      if ((mask & before) == 0) {
        const std::int64_t free = free_at(loads_[block].node);
        if (!best.has_value() || free < best_free) {
          best = block;
          best_free = free;
        }
      }
      before |= mask;
    }
    return checked_value(best, "the first block that is not placed can be");
  }

  void place(std::size_t block) {
    const std::size_t node = loads_[block].node;
    placed_[block] = true;
    order_.push_back(block);
    if (end_[node] == kNone) {
      while (const std::optional<std::size_t> gone = first_in_the_way(node)) {
        driver_free_ =
            std::max(driver_free_, end_[*gone]) + gpu_.size_of(*gone).destroy.to_nanoseconds();
        longest_wait_ = std::max(longest_wait_, driver_free_ - end_[*gone]);
        end_[*gone] = kNone;
      }
      driver_free_ += gpu_.size_of(node).create.to_nanoseconds();
      end_[node] = driver_free_;
    }
    end_[node] += loads_[block].time;
    makespan_ = std::max(makespan_, end_[node]);
  }

  std::optional<std::size_t> first_in_the_way(std::size_t node) const {
    std::optional<std::size_t> first;
    for (std::size_t other = 0; other < gpu_.nodes().size(); ++other) {
      if (end_[other] != kNone && overlap(node, other) &&
          (!first.has_value() || end_[other] < end_[*first])) {
        first = other;
      }
    }
    return first;
  }

  const MoldableGpu& gpu_;
  std::span<const Load> loads_;
  std::vector<bool> placed_;
  std::array<std::int64_t, kMoldableNodesMax> end_{};  // of standing instances
  std::int64_t driver_free_ = 0;
  std::int64_t makespan_ = 0;
  std::int64_t longest_wait_ = 0;
  std::vector<std::size_t> order_;
};

std::vector<Load> loads_of_blocks(const MoldableGpu& gpu,
                                  const MoldableTimes& times,
                                  std::span<const MoldableBlock> blocks) {
  std::vector<Load> loads;
  for (const MoldableBlock& block : blocks) {
    Load& load = loads.emplace_back(Load{block.node, 0});
    for (const std::size_t task : block.tasks) {
      load.time += times.at(task, gpu.node(block.node).size);
    }
  }
  return loads;
}

/// Moves and swaps between the blocks of joined batches.
class Joined {
 public:
  Joined(const MoldableGpu& gpu, const MoldableTimes& times, std::vector<MoldableBlock> blocks)
      : gpu_(gpu), times_(times), blocks_(std::move(blocks)) {
    loads_ = loads_of_blocks(gpu, times, blocks_);
    refresh();
  }

  std::int64_t makespan() const { return makespan_; }
  const std::vector<MoldableBlock>& blocks() const { return blocks_; }

  /// One round; false where nothing helped.
  bool improve(WorkBudget& budget) {
    std::optional<Change> best;
    visit_changes(Kind::kMove, budget, best);
    if (!best.has_value()) {
      visit_changes(Kind::kSwap, budget, best);
    }
    if (!best.has_value()) {
      return false;
    }
    apply(*best);
    return true;
  }

 private:
  enum class Kind { kMove, kSwap };
  /// The task at `at` of block `from` goes to block `to`, whose task at `back` comes back.
  struct Change {
    std::size_t from = 0;
    std::size_t at = 0;
    std::size_t to = 0;
    std::optional<std::size_t> back;
    std::int64_t makespan = 0;
  };

  void refresh() {
    const BlockPass pass(gpu_, loads_);
    makespan_ = pass.makespan();
    wait_ = pass.longest_wait();
  }

  std::int64_t time(std::size_t block, std::size_t at) const {
    return times_.at(blocks_[block].tasks[at], gpu_.node(blocks_[block].node).size);
  }

  /// The task of `to` whose difference to `mine` is closest to half of the longest wait.
  std::optional<std::size_t> partner(std::int64_t mine, std::size_t to) const {
    std::optional<std::size_t> best;
    std::int64_t best_distance = 0;
    for (std::size_t at = 0; at < blocks_[to].tasks.size(); ++at) {
      const std::int64_t difference = mine - time(to, at);
      const std::int64_t distance = std::abs(2 * difference - wait_);
      if (difference > 0 && (!best.has_value() || distance < best_distance)) {
        best = at;
        best_distance = distance;
      }
    }
    return best;
  }

  void visit_changes(Kind kind, WorkBudget& budget, std::optional<Change>& best) {
    for (std::size_t from = 0; from < blocks_.size(); ++from) {
      for (std::size_t at = 0; at < blocks_[from].tasks.size(); ++at) {
        for (std::size_t to = 0; to < blocks_.size(); ++to) {
          if (to == from ||
              gpu_.node(blocks_[to].node).size != gpu_.node(blocks_[from].node).size) {
            continue;
          }
          if (!budget.spend(static_cast<std::int64_t>(blocks_.size()))) {
            return;
          }
          try_change(kind, {from, at, to, {}, 0}, best);
        }
      }
    }
  }

  void try_change(Kind kind, Change change, std::optional<Change>& best) {
    std::int64_t moved = time(change.from, change.at);
    if (kind == Kind::kMove && blocks_[change.from].tasks.size() == 1) {
      return;  // an empty block is not a block; swaps reach it
    }
    if (kind == Kind::kSwap) {
      change.back = partner(moved, change.to);
      if (!change.back.has_value()) {
        return;
      }
      moved -= time(change.to, *change.back);
    }
    loads_[change.from].time -= moved;
    loads_[change.to].time += moved;
    change.makespan = BlockPass(gpu_, loads_).makespan();
    loads_[change.from].time += moved;
    loads_[change.to].time -= moved;
    if (change.makespan < (best.has_value() ? best->makespan : makespan_)) {
      best = change;
    }
  }

  void apply(const Change& change) {
    std::vector<std::size_t>& from = blocks_[change.from].tasks;
    std::vector<std::size_t>& to = blocks_[change.to].tasks;
    if (change.back.has_value()) {
      std::swap(from[change.at], to[*change.back]);
    } else {
      to.push_back(from[change.at]);
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(change.at));
    }
    loads_ = loads_of_blocks(gpu_, times_, blocks_);
    refresh();
  }

  const MoldableGpu& gpu_;
  const MoldableTimes& times_;
  std::vector<MoldableBlock> blocks_;
  std::vector<Load> loads_;
  std::int64_t makespan_ = 0;
  std::int64_t wait_ = 0;
};

/// FAR's blocks of some of the tasks, with the numbers they have among all; reversed: the last to
/// end comes first.
enum class Direction { kForwards, kReversed };
Result<std::vector<MoldableBlock>> batch_blocks(const MoldableProblem& problem,
                                                std::size_t first,
                                                std::size_t count,
                                                Direction direction,
                                                WorkBudget& budget,
                                                Duration& makespan) {
  const auto begin = problem.tasks.begin() + static_cast<std::ptrdiff_t>(first);
  const MoldableProblem batch{
      problem.gpu, std::vector<MoldableTask>(begin, begin + static_cast<std::ptrdiff_t>(count))};
  SEPTULE_TRY(const FarAnswer answer, far_schedule(batch, budget));
  makespan += answer.makespan;
  const MoldableGpu& gpu = *problem.gpu;
  const MoldableTimes times(batch);
  std::vector<MoldableBlock> blocks =
      tree_blocks(gpu, times, answer.assignment, TreeTies::kNodeOrder);
  if (direction == Direction::kReversed) {
    const TreePass pass =
        tree_pass(gpu, loads_of(gpu, times, answer.assignment), TreeTies::kNodeOrder);
    std::stable_sort(blocks.begin(), blocks.end(), [&](const auto& a, const auto& b) {
      return pass.end[a.node] > pass.end[b.node];
    });
  }
  for (MoldableBlock& block : blocks) {
    for (std::size_t& task : block.tasks) {
      task += first;
    }
  }
  return blocks;
}

}  // namespace

std::vector<MoldableBlock> in_order_of_creation(const MoldableProblem& problem,
                                                std::vector<MoldableBlock> blocks) {
  const MoldableTimes times(problem);
  const std::vector<Load> loads = loads_of_blocks(*problem.gpu, times, blocks);
  const BlockPass pass(*problem.gpu, loads);
  std::vector<MoldableBlock> ordered;
  for (const std::size_t block : pass.order()) {
    ordered.push_back(std::move(blocks[block]));
  }
  return ordered;
}

Result<BatchesAnswer> far_batches(const MoldableProblem& problem,
                                  std::span<const std::size_t> sizes,
                                  WorkBudget& budget) {
  SEPTULE_TRY_STATUS(check_moldable_problem(problem));
  std::size_t sum = 0;
  for (const std::size_t size : sizes) {
    sum += std::min(size, kMoldableTasksMax + 1);
  }
  if (sum != problem.tasks.size()) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("the {} batches have {} tasks together, and there are {}",
                             sizes.size(),
                             sum,
                             problem.tasks.size())};
  }
  BatchesAnswer answer;
  std::vector<MoldableBlock> blocks;
  std::size_t first = 0;
  for (std::size_t batch = 0; batch < sizes.size(); ++batch) {
    const Direction direction = batch % 2 == 0 ? Direction::kForwards : Direction::kReversed;
    SEPTULE_TRY(const std::vector<MoldableBlock> made,
                batch_blocks(problem, first, sizes[batch], direction, budget, answer.one_by_one));
    blocks.insert(blocks.end(), made.begin(), made.end());
    first += sizes[batch];
  }
  const MoldableTimes times(problem);
  Joined joined(*problem.gpu, times, std::move(blocks));
  answer.before_refinement = Duration::nanoseconds(joined.makespan());
  for (int round = 0; round < kRoundsMax && joined.improve(budget); ++round) {
  }
  answer.schedule = lay_out(problem, in_order_of_creation(problem, joined.blocks()));
  return answer;
}

}  // namespace septule::optimize
