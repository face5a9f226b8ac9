#pragma once

#include "base/options.hpp"

namespace septule::app {

/// The record of `septule train predictor`: one list for the program that a person calls and for
/// the one that does the work.
CommandRecord train_predictor_record();

}  // namespace septule::app
