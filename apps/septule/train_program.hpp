#pragma once

#include "base/result.hpp"
#include "septule/app.hpp"

namespace septule::app {

/// Becomes septule-train, which does the work of the commands below "train", with the same
/// arguments: it takes this program's place. Comes back only where that program is not there or
/// cannot be started (kNotFound).
Result<int> become_training_program(const Invocation& invocation);

}  // namespace septule::app
