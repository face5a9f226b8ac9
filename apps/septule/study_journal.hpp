#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "sim/study.hpp"

namespace septule::app {

/// The runs of a study that are finished, one line each in DIR/trials.jsonl (docs/formats.md), so
/// that an interrupted study can go on. Lines are appended whole; one that was cut off at the end
/// is dropped on opening. The first line names the study by fingerprint. Locked: two programs never
/// write one journal. record_*() may be called by several threads, the rest by one.
class StudyJournal {
 public:
  enum class Opening { kNew, kResume };
  /// Opens or makes the journal. kInvalidInput if it belongs to another study or is damaged before
  /// its last line (naming the line), kFailed if it cannot be written or is in use.
  static Result<std::unique_ptr<StudyJournal>> open(const std::string& path,
                                                    std::uint64_t fingerprint,
                                                    Opening opening);

  /// What the journal held when it was opened, by number of the trial.
  const std::map<std::size_t, sim::TrialResult>& trials() const { return trials_; }
  const std::map<std::size_t, double>& layouts() const { return layouts_; }

  Status record_trial(std::size_t index, const sim::TrialResult& result);
  Status record_layout(std::size_t index, double mean_jct_s);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }  // NOLINT(cert-err33-c)
  };
  StudyJournal() = default;
  Status load(std::string_view text, std::uint64_t fingerprint);
  Status read_line(std::string_view line, int number);
  Status append(const std::string& line);

  std::string path_;
  std::mutex mutex_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::size_t whole_bytes_ = 0;  ///< up to the end of the last whole line
  std::map<std::size_t, sim::TrialResult> trials_;
  std::map<std::size_t, double> layouts_;
};

}  // namespace septule::app
