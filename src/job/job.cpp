#include "job/job.hpp"

#include <array>

#include "base/check.hpp"

namespace septule::job {

namespace {

constexpr std::array<std::string_view, kJobStateCount> kStateNames{"unsubmitted",
                                                                   "waiting",
                                                                   "starting",
                                                                   "characterising",
                                                                   "running",
                                                                   "stopping",
                                                                   "stopped",
                                                                   "done",
                                                                   "rejected"};
constexpr std::array<std::string_view, kTimeKindCount> kTimeNames{
    "waiting", "characterisation", "reconfiguration", "running"};

}  // namespace

std::string_view job_state_name(JobState state) {
  return kStateNames.at(static_cast<std::size_t>(state));
}

bool is_legal_move(JobState from, JobState to) {
  using enum JobState;
  switch (from) {
    case kUnsubmitted:
      return to == kWaiting || to == kRejected;
    case kWaiting:
      return to == kStarting || to == kRejected;
    case kStarting:
      // A start that is given up has nothing new to save (kStopped), or did not come to be
      // (kWaiting); a re-cut may also wait for it and save (kStopping).
      return to == kCharacterising || to == kRunning || to == kStopping || to == kStopped ||
             to == kWaiting;
    case kCharacterising:
      // kStarting: the next level of the characterisation needs a new process.
      return to == kRunning || to == kStarting || to == kStopping || to == kDone;
    case kRunning:
      // kCharacterising: a job that runs under MPS already is measured where it is.
      return to == kCharacterising || to == kStopping || to == kDone;
    case kStopping:
      // kDone: the last step came before the checkpoint.
      return to == kStopped || to == kDone;
    case kStopped:
      return to == kStarting || to == kWaiting;
    case kDone:
    case kRejected:
      return false;
  }
  check_failed("from", "a job is in one of its states", __FILE__, __LINE__);
}

std::optional<TimeKind> time_kind_of(JobState state) {
  using enum JobState;
  switch (state) {
    case kUnsubmitted:
    case kDone:
    case kRejected:
      return std::nullopt;
    case kWaiting:
      return TimeKind::kWaiting;
    case kStarting:
    case kStopping:
    case kStopped:
      return TimeKind::kReconfiguration;
    case kCharacterising:
      return TimeKind::kCharacterisation;
    case kRunning:
      return TimeKind::kRunning;
  }
  check_failed("state", "a job is in one of its states", __FILE__, __LINE__);
}

std::string_view time_kind_name(TimeKind kind) {
  return kTimeNames.at(static_cast<std::size_t>(kind));
}

}  // namespace septule::job
