#include "serve/capacitated_assignment.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "base/check.hpp"
#include "serve/indices.hpp"

namespace septule::serve {

namespace {

constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max() / 4;

/// The assignment as it grows. Between two columns, moving the row that is cheapest to move.
class Assignment {
 public:
  Assignment(std::span<const std::vector<std::int64_t>> costs, std::span<const int> capacities)
      : costs_(costs),
        free_(capacities.begin(), capacities.end()),
        columns_(capacities.size()),
        members_(columns_),
        moves_(columns_, std::vector<Move>(columns_)) {}

  void insert(int row) {
    const std::vector<int> path = cheapest_path(row);
    // Backwards: the last of the path takes its row before the one before it gives one up.
    for (std::size_t index = path.size() - 1; index > 0; --index) {
      const std::size_t from = at(path[index - 1]);
      const int moved = moves_[from][at(path[index])].row;
      std::erase(members_[from], moved);
      members_[at(path[index])].push_back(moved);
    }
    members_[at(path.front())].push_back(row);
    --free_[at(path.back())];
    for (const int column : path) {
      find_moves(at(column));
    }
  }

  std::vector<int> columns_of_rows() const {
    std::vector<int> chosen(costs_.size(), -1);
    for (std::size_t column = 0; column < columns_; ++column) {
      for (const int row : members_[column]) {
        chosen[at(row)] = static_cast<int>(column);
      }
    }
    return chosen;
  }

 private:
  struct Move {
    std::int64_t cost = kFar;
    int row = -1;
  };

  void find_moves(std::size_t from) {
    for (std::size_t to = 0; to < columns_; ++to) {
      Move best;
      for (const int row : members_[from]) {
        const std::int64_t cost = costs_[at(row)][to] - costs_[at(row)][from];
        if (cost < best.cost || (cost == best.cost && row < best.row)) {
          best = {cost, row};
        }
      }
      moves_[from][to] = best;
    }
  }

  /// The columns of the cheapest path from the new row to a column with room.
  std::vector<int> cheapest_path(int row) const {
    std::vector<std::int64_t> distance(costs_[at(row)]);
    std::vector<int> before(columns_, -1);
    for (std::size_t round = 1; round < columns_; ++round) {
      bool is_changed = false;
      for (std::size_t from = 0; from < columns_; ++from) {
        for (std::size_t to = 0; to < columns_; ++to) {
          const Move& move = moves_[from][to];
          if (from != to && move.row >= 0 && distance[from] + move.cost < distance[to]) {
            distance[to] = distance[from] + move.cost;
            before[to] = static_cast<int>(from);
            is_changed = true;
          }
        }
      }
      if (!is_changed) {
        break;
      }
    }
    int end = -1;
    for (std::size_t column = 0; column < columns_; ++column) {
      const bool has_room = free_[column] > 0;
      if (has_room && (end < 0 || distance[column] < distance[at(end)])) {
        end = static_cast<int>(column);
      }
    }
    SEPTULE_CHECK(end >= 0, "the capacities hold all rows");
    std::vector<int> path;
    for (int column = end; column >= 0; column = before[at(column)]) {
      path.push_back(column);
      SEPTULE_CHECK(path.size() <= columns_, "a cheapest path has no cycle");
    }
    std::ranges::reverse(path);
    return path;
  }

  std::span<const std::vector<std::int64_t>> costs_;
  std::vector<int> free_;
  std::size_t columns_;
  std::vector<std::vector<int>> members_;
  std::vector<std::vector<Move>> moves_;
};

}  // namespace

std::vector<int> assign_within_capacities(std::span<const std::vector<std::int64_t>> costs,
                                          std::span<const int> capacities) {
  SEPTULE_CHECK(
      std::accumulate(capacities.begin(), capacities.end(), std::int64_t{0}) >= std::ssize(costs),
      "the capacities hold all rows");
  Assignment assignment(costs, capacities);
  for (std::size_t row = 0; row < costs.size(); ++row) {
    SEPTULE_CHECK(costs[row].size() == capacities.size(), "a row has a cost for each column");
    assignment.insert(static_cast<int>(row));
  }
  return assignment.columns_of_rows();
}

}  // namespace septule::serve
