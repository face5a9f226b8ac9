#pragma once

#include "base/result.hpp"
#include "septule/app.hpp"

namespace septule::train_app {

/// `septule train window`: trains, judges, draws.
Result<int> run_window_command(const app::Invocation& invocation, app::Context& context);

}  // namespace septule::train_app
