#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace septule::serve {

/// Gives each row one column, no column to more rows than its capacity, at the least total cost.
/// `costs[row][column]`: one row for each thing, all of the columns' length, |cost| < 2^40. The
/// capacities must hold all rows. Exact: rows come in one after another, each by the cheapest path
/// of replacements (successive shortest paths on the columns alone, Bellman-Ford). Ties: lowest
/// row, lowest column. Cost: rows x (columns^3 + changed columns x rows); a few milliseconds for
/// 500 rows and 13 columns.
std::vector<int> assign_within_capacities(std::span<const std::vector<std::int64_t>> costs,
                                          std::span<const int> capacities);

}  // namespace septule::serve
