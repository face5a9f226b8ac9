#pragma once

#include <array>
#include <span>
#include <string_view>

#include "interop/serving_profile.hpp"

namespace septule::interop {

// What the importers of serving profiles share. Implementation detail of serving_profile.cpp.

/// What a column says.
enum class ProfileField {
  kModel,
  kSlices,  ///< "2", "2g", "2g.20gb"; "none" = MIG off
  kBatch,
  kProcesses,
  kShare,       ///< percent
  kThroughput,  ///< requests per second, all processes together
  kLatency,     ///< ms of a batch
  kMeaning,
  kMemoryGib,
  kMemoryMib,
  kSuspect,  ///< 0 or 1
  kGpu,      ///< catalogue key
  kSource,
  kKind,    ///< read by the format's own rule
  kUnused,  ///< part of the format, not of a profile
};
inline constexpr int kProfileFieldCount = 15;

/// A column of a published table and what it becomes.
struct ProfileColumn {
  std::string_view name;
  ProfileField field = ProfileField::kUnused;
  enum class Need { kRequired, kOptional } need = Need::kRequired;
};

/// A published table: its columns, and what all of its rows have in common. Static lifetime.
struct ProfileTable {
  ServingProfileFormat format = ServingProfileFormat::kSeptule;
  std::string_view name;
  std::span<const ProfileColumn> columns;
  serve::LatencyMeaning meaning = serve::LatencyMeaning::kUnstated;
  std::string_view gpu;     ///< catalogue key; empty = not stated
  std::string_view source;  ///< publication; empty = the name of the text
  std::string_view note;    ///< about every text of the format; empty = nothing
};
/// In the order in which headings are tried.
std::span<const ProfileTable> profile_tables();

/// Tables that are not profiles but are easily taken for one: a first column or two, and what the
/// text is.
struct OtherTable {
  std::string_view column;
  std::string_view other_column;
  std::string_view what;
};
/// All of them; static lifetime.
std::span<const OtherTable> other_tables();

/// Cells of one row by field; empty = not given.
using ProfileCells = std::array<std::string_view, kProfileFieldCount>;
/// What a format's own rule makes of a row: `left_out` says why it is no row of a profile (static
/// lifetime, empty = it is one); of rows for one point the greatest rank is kept.
struct ProfileRowUse {
  std::string_view left_out;
  int rank = 0;
};
/// Applies the rule; it may change cells (to texts of static lifetime or parts of cells).
ProfileRowUse use_of_row(ServingProfileFormat format, ProfileCells& cells);

/// A row to read: where it stands, by which table and its cells. Borrowed for the call.
struct ProfileRowText {
  std::string_view source_name;
  int line = 0;
  std::string_view place;  ///< before the name of a column in messages: "column "
  const ProfileTable& table;
  const ProfileCells& cells;
};
/// kInvalidInput naming line and column for a cell that cannot be read or is out of range.
Result<ServingProfileRow> read_profile_row(const ProfileRowText& row);

}  // namespace septule::interop
