// Philly's cluster_job_log: a JSON list of jobs. Jobs are handed over one by one as the parser ends
// them and then forgotten, so that the memory needed does not grow with the file.
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "interop/input_text.hpp"
#include "interop/json_position.hpp"
#include "interop/trace_readers.hpp"

namespace septule::interop {

namespace {

using Json = nlohmann::json;
using Kind = TraceFindingKind;

constexpr Duration kLongest = Duration::nanoseconds(kTraceDurationSecondsMax * 1000000000);

/// A member that is a text which says something, or empty.
std::string text_of(const Json& map, const char* name) {
  const auto found = map.find(name);
  if (found == map.end() || !found->is_string()) {
    return "";
  }
  const std::string& text = found->get_ref<const std::string&>();
  return is_blank_cell(text) ? std::string() : std::string(trimmed(text));
}

/// A time: nothing if it is absent or blank, `is_bad` if it is neither that nor readable.
std::optional<Duration> time_of(const Json& map, const char* name, bool& is_bad) {
  const auto found = map.find(name);
  if (found == map.end() || found->is_null()) {
    return std::nullopt;
  }
  if (!found->is_string()) {
    is_bad = true;
    return std::nullopt;
  }
  const std::string text = text_of(map, name);
  if (text.empty()) {
    return std::nullopt;
  }
  const std::optional<Duration> time = parse_timestamp(text);
  is_bad = is_bad || !time;
  return time;
}

const Json& list_of(const Json& map, const char* name, const Json& none) {
  const auto found = map.find(name);
  return found == map.end() || !found->is_array() ? none : *found;
}

class PhillyReader {
 public:
  explicit PhillyReader(const InputText& input)
      : input_(input), builder_(std::string(input.source_name)) {}

  Result<TraceImport> read() {
    SEPTULE_TRY(const std::string_view text, checked_text(input_, kTraceBytesMax));
    const Json::parser_callback_t callback =
        [this](int depth, Json::parse_event_t event, Json& parsed) {
          return is_kept(depth, event, parsed);
        };
    try {
      // Pointers, because the iterator counts bytes; both ends come from the same view.
      const char* const first = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
      const Json rest = Json::parse(CountingIterator(first, &position_),
                                    CountingIterator(first + text.size(), &position_),
                                    callback);
      if (!rest.is_array() && !fault_) {
        fail("expected a list of jobs");
      }
    } catch (const Json::exception& problem) {
      return bad_json(problem.what());
    }
    if (fault_) {
      return *fault_;
    }
    return builder_.finish();
  }

 private:
  Error bad_json(std::string_view what) const {
    if (what.find("unexpected end of input") != std::string_view::npos) {
      return input_error(input_.source_name,
                         position_.line,
                         "",
                         "the JSON text ends in the middle; is the file cut off?");
    }
    const std::size_t from = what.find("syntax error");
    return input_error(
        input_.source_name,
        position_.line,
        "",
        fmt::format("not valid JSON: {}",
                    one_line(from == std::string_view::npos ? what : what.substr(from))));
  }

  void fail(std::string_view what) {
    if (!fault_) {
      fault_ = input_error(input_.source_name, position_.line, "", what);
    }
  }

  /// Called by the parser at every value; false makes it forget the value.
  bool is_kept(int depth, Json::parse_event_t event, Json& parsed) {
    using Event = Json::parse_event_t;
    if (fault_) {
      return false;
    }
    const bool is_start = event == Event::object_start || event == Event::array_start;
    if (depth == 0 && (event == Event::object_start || event == Event::value)) {
      fail("expected a list of jobs, [{\"status\": ..., \"jobid\": ...}, ...]");
      return false;
    }
    if (is_start && depth > kNestingMax) {
      fail(fmt::format("nested more than {} levels deep", kNestingMax));
      return false;
    }
    if (depth != 1 || event == Event::key) {
      return true;
    }
    if (event == Event::object_start) {
      line_ = position_.line;
      return true;
    }
    if (event == Event::array_start) {
      line_ = position_.line;
      return true;
    }
    take_element(
        event == Event::object_end, event == Event::value ? position_.line : line_, parsed);
    return false;
  }

  void take_element(bool is_object, int line, const Json& parsed) {
    if (++rows_ > kTraceRowsMax) {
      fail(fmt::format("more than {} jobs; that is the limit", kTraceRowsMax));
    } else if (!is_object) {
      builder_.drop(Kind::kUnreadableCell, line, "expected a job, {\"jobid\": ...}");
    } else {
      read_job(line, parsed);
    }
  }

  void read_job(int line, const Json& json) {
    TraceRow row;
    row.job.line = line;
    const auto id = json.find("jobid");
    const bool is_number = id != json.end() && id->is_number_integer();
    row.job.id = is_number ? id->dump() : text_of(json, "jobid");
    if (row.job.id.empty()) {
      row.job.id = fmt::format("row-{}", rows_);  // not by line: all may stand on one
    }
    row.job.status = lower_case(text_of(json, "status"));
    row.job.vc = text_of(json, "vc");
    row.job.user = text_of(json, "user");
    bool is_bad = false;
    row.submit = time_of(json, "submitted_time", is_bad);
    if (is_bad) {
      const std::string text = text_of(json, "submitted_time");
      builder_.drop(Kind::kUnreadableCell,
                    line,
                    fmt::format("submitted_time: {}",
                                text.empty() ? "not a text" : quoted_for_message(text, 40)));
      return;
    }
    const Json& attempts = list_of(json, "attempts", none_);
    if (attempts.size() > kTraceAttemptsMax) {
      builder_.drop(
          Kind::kUnreadableCell,
          line,
          fmt::format("{} attempts; at most {} are accepted", attempts.size(), kTraceAttemptsMax));
      return;
    }
    read_attempts(attempts, row);
    builder_.add(std::move(row));
  }

  /// GPUs of a job = GPUs of its last attempt; duration = sum of attempts (workloads.md 10).
  void read_attempts(const Json& attempts, TraceRow& row) {
    std::vector<std::string> bad;
    Duration total;
    bool has_times = false;
    int number = 0;
    for (const Json& attempt : attempts) {
      ++number;
      bool is_bad = !attempt.is_object();
      const auto start = is_bad ? std::nullopt : time_of(attempt, "start_time", is_bad);
      const auto end = is_bad ? std::nullopt : time_of(attempt, "end_time", is_bad);
      if (start && !row.start) {
        row.start = start;
      }
      if (!start || !end || *end < *start) {
        bad.push_back(
            fmt::format("job {}: attempt {}", quoted_for_message(row.job.id, 40), number));
        continue;
      }
      // Beyond the limit the job is dropped anyway, and a longer sum would not fit.
      total = total > kLongest ? total : total + (*end - *start);
      has_times = true;
    }
    row.job.has_started = has_times || row.start.has_value();
    if (has_times) {
      row.job.duration = total;
    }
    for (const std::string& what : bad) {
      // An attempt without a start beside none with one is a job that never ran: said once.
      if (row.job.has_started) {
        builder_.note(Kind::kBadAttempt, row.job.line, what);
      }
    }
    if (!attempts.empty() && attempts.back().is_object()) {
      std::size_t gpus = 0;
      for (const Json& node : list_of(attempts.back(), "detail", none_)) {
        gpus += node.is_object() ? list_of(node, "gpus", none_).size() : 0;
      }
      if (gpus > 0) {
        row.job.gpus = GpuMilli(static_cast<std::int64_t>(gpus) * kGpuMilliWhole);
      }
    }
  }

  const InputText& input_;
  const Json none_ = Json::array();
  ReadPosition position_;
  TraceBuilder builder_;
  std::optional<Error> fault_;
  std::size_t rows_ = 0;
  int line_ = 0;  // where the element in progress begins
};

}  // namespace

Result<TraceImport> read_philly_trace(const InputText& input) {
  return PhillyReader(input).read();
}

}  // namespace septule::interop
