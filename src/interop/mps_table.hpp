#pragma once

#include <vector>

#include "base/result.hpp"
#include "interop/mps_measurements.hpp"

namespace septule::interop {

/// The CSV form of MPS measurements: a heading with `job`, `atp` and `step_s`, optional `run` and
/// the columns of mps_fields.hpp, then a row for each job and level. Use parse_mps_measurements().
Result<std::vector<MpsRun>> parse_mps_table(const InputText& input);

}  // namespace septule::interop
