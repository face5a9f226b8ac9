#pragma once

#include <string>

#include "base/result.hpp"
#include "septule/output.hpp"
#include "septule/predict_run.hpp"

namespace septule::app {

/// `septule predict --jsonl`: one line of predictions for each line of `path` ("-": standard
/// input), in order, whatever comes: a line that is not valid gives an error object. What has been
/// answered is written before the next read waits, so that a program may ask line by line. A line
/// longer than interop::kInputBytesMax is bad and is passed over without keeping it. Fails with
/// kInvalidInput at the end if any line was bad, saying how many and the first.
Status predict_stream(const std::string& path, const LoadedModel& model, Output& output);

}  // namespace septule::app
