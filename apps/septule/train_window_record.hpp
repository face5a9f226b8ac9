#pragma once

#include "base/options.hpp"

namespace septule::app {

/// The record of `septule train window`: one list for the program that a person calls and for the
/// one that does the work.
CommandRecord train_window_record();

}  // namespace septule::app
