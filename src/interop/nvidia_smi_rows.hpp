#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

/// A row of an `nvidia-smi mig -lgi` or `-lci` table as printed, numbers within their limits.
struct SmiRow {
  int line = 0;
  int table = 0;  ///< which table of the paste, from 1
  int gpu = 0;
  int gpu_instance_id = 0;  ///< of -lci rows: the GPU instance around
  std::string name;         ///< without "MIG "
  int profile_id = 0;
  int instance_id = 0;
  bool has_placement = true;  ///< old drivers print none in -lci
  int start = 0;
  int size = 0;
};

/// The tables found in a paste. A value.
struct SmiRows {
  std::vector<SmiRow> gpu_instances;
  std::vector<SmiRow> compute_instances;
  bool has_compute_table = false;  ///< an -lci table or the answer that there is none to show
  bool is_mig_disabled = false;    ///< "No MIG-enabled devices found"
};

/// Finds the tables in a paste; other text and tables are passed over. Fails with kInvalidInput for
/// a row that is not whole, a table that is not closed, and a text without any listing.
Result<SmiRows> read_smi_rows(const InputText& input);

}  // namespace septule::interop
