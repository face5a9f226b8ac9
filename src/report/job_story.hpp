#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "job/metrics.hpp"

namespace septule::report {

/// Something that happened to a job, or was decided about it.
struct StoryLine {
  SimTime time;
  std::string text;  ///< one sentence
};

/// The story of one job for `septule simulate --explain`: what became of it, the lines with their
/// times relative to its submission, and the four kinds of time with their sum, which is the JCT.
/// `lines` are told in order of time, those of one time as given; `name` is the job's name in the
/// trace, empty if it has none. A text of several lines, ended by a line feed.
std::string job_story(const job::JobOutcome& outcome,
                      std::string_view name,
                      std::span<const StoryLine> lines);

}  // namespace septule::report
