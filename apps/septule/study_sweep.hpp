#pragma once

#include <string>

#include "septule/study_document.hpp"

namespace septule::app {

/// Mean JCT over the mean gap between submissions, a line for each policy on each cluster, as a
/// drawing of its own (sweep.svg). Empty for a study of one gap.
std::string sweep_drawing(const FinishedStudy& finished);

}  // namespace septule::app
