#include "septule/study_journal.hpp"

#include <cerrno>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/text.hpp"
#include "septule/files.hpp"

namespace septule::app {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kSchema = "septule-trials/1";
constexpr std::size_t kJournalBytesMax = std::size_t{1} << 32U;

Error cannot(const std::string& path, std::string_view what) {
  return Error{ErrorCode::kFailed,
               fmt::format("{}: cannot be {}: {}",
                           quoted_for_message(path),
                           what,
                           std::error_code(errno, std::generic_category()).message())};
}

std::string fingerprint_text(std::uint64_t fingerprint) {
  return fmt::format("{:016x}", fingerprint);
}

/// A line of the journal vouches for itself: `sum` is the digest of the rest as it is written.
std::string summed_line(Json line) {
  Digest sum;
  sum.add(line.dump());
  line["sum"] = sum.text();
  return line.dump();
}

bool has_right_sum(const Json& line) {
  if (!line.is_object() || !line.contains("sum") || !line["sum"].is_string()) {
    return false;
  }
  Json rest = line;
  rest.erase("sum");
  Digest sum;
  sum.add(rest.dump());
  return line["sum"].get<std::string>() == sum.text();
}

Json trial_line(std::size_t index, const sim::TrialResult& result) {
  Json figures = Json::array();
  for (const job::FigureColumn& column : job::figure_columns()) {
    figures.push_back(result.figures.*column.member);
  }
  Json jct = Json::array();
  for (const Duration one : result.jct) {
    jct.push_back(one.to_nanoseconds());
  }
  Json line{{"trial", index},
            {"digest", fingerprint_text(result.digest)},
            {"events", result.events},
            {"figures", std::move(figures)},
            {"jct_ns", std::move(jct)}};
  if (!result.forecasts.empty() || result.measurements != job::MeasurementCounts()) {
    Json sums = Json::array();
    for (const job::ForecastSums& one : result.forecasts) {
      sums.push_back({one.slices.value(), one.count, one.error_abs, one.error});
    }
    line["forecasts"] = std::move(sums);
    line["columns"] = {result.measurements.drawn,
                       result.measurements.nearest,
                       result.measurements.modelled,
                       result.measurements.unmeasured};
  }
  return line;
}

bool is_row_of(const Json& row, std::size_t integers, std::size_t size) {
  bool is_good = row.is_array() && row.size() == size;
  for (std::size_t i = 0; is_good && i < size; ++i) {
    is_good = i < integers ? row[i].is_number_integer() : row[i].is_number();
  }
  return is_good;
}

/// What a learned predictor's run has beside the rest; false if it is damaged.
bool read_forecasts(const Json& line, sim::TrialResult& result) {
  if (!line.contains("forecasts")) {
    return true;
  }
  if (!line["forecasts"].is_array() || !line.contains("columns") ||
      !is_row_of(line["columns"], 4, 4)) {
    return false;
  }
  for (const Json& row : line["forecasts"]) {
    if (!is_row_of(row, 2, 4)) {
      return false;
    }
    result.forecasts.push_back({ComputeSlices(row[0].get<int>()),
                                row[1].get<std::int64_t>(),
                                row[2].get<double>(),
                                row[3].get<double>()});
  }
  const Json& columns = line["columns"];
  result.measurements = {columns[0].get<std::int64_t>(),
                         columns[1].get<std::int64_t>(),
                         columns[2].get<std::int64_t>(),
                         columns[3].get<std::int64_t>()};
  return true;
}

std::optional<std::uint64_t> hex_value(const Json& node) {
  if (!node.is_string() || node.get<std::string>().size() != 16) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  for (const char c : node.get<std::string>()) {
    const std::size_t digit = std::string_view("0123456789abcdef").find(c);
    if (digit == std::string_view::npos) {
      return std::nullopt;
    }
    value = (value << 4U) | digit;
  }
  return value;
}

std::optional<sim::TrialResult> trial_of(const Json& line) {
  const auto columns = job::figure_columns();
  const auto digest = line.contains("digest") ? hex_value(line["digest"]) : std::nullopt;
  const bool is_whole = digest && line.contains("events") && line["events"].is_number_integer() &&
                        line.contains("figures") && line["figures"].is_array() &&
                        line["figures"].size() == columns.size() && line.contains("jct_ns") &&
                        line["jct_ns"].is_array();
  if (!is_whole) {
    return std::nullopt;
  }
  sim::TrialResult result;
  result.digest = *digest;
  result.events = line["events"].get<std::int64_t>();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!line["figures"][i].is_number()) {
      return std::nullopt;
    }
    result.figures.*columns[i].member = line["figures"][i].get<double>();
  }
  for (const Json& one : line["jct_ns"]) {
    if (!one.is_number_integer()) {
      return std::nullopt;
    }
    result.jct.push_back(Duration::nanoseconds(one.get<std::int64_t>()));
  }
  if (!read_forecasts(line, result)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace

Result<std::unique_ptr<StudyJournal>> StudyJournal::open(const std::string& path,
                                                         std::uint64_t fingerprint,
                                                         Opening opening) {
  std::unique_ptr<StudyJournal> journal(new StudyJournal());
  journal->path_ = path;
  journal->file_.reset(std::fopen(path.c_str(), "ab"));
  if (journal->file_ == nullptr) {
    return cannot(path, "written");
  }
  if (flock(fileno(journal->file_.get()), LOCK_EX | LOCK_NB) != 0) {
    return Error{
        ErrorCode::kFailed,
        fmt::format("{}: another program is writing this study", quoted_for_message(path))};
  }
  SEPTULE_TRY(const std::string text, read_input(path, kJournalBytesMax));
  if (opening == Opening::kResume) {
    SEPTULE_TRY_STATUS(journal->load(text, fingerprint));
  }
  if (ftruncate(fileno(journal->file_.get()), static_cast<off_t>(journal->whole_bytes_)) != 0) {
    return cannot(path, "cut to its last whole line");
  }
  if (journal->whole_bytes_ == 0) {
    SEPTULE_TRY_STATUS(journal->append(
        Json{{"schema", kSchema}, {"study", fingerprint_text(fingerprint)}}.dump()));
  }
  return journal;
}

Status StudyJournal::load(std::string_view text, std::uint64_t fingerprint) {
  int number = 0;
  while (whole_bytes_ < text.size()) {
    const std::size_t end = text.find('\n', whole_bytes_);
    if (end == std::string_view::npos) {
      return {};  // cut off while it was being written: that run is made again
    }
    const std::string_view line = text.substr(whole_bytes_, end - whole_bytes_);
    ++number;
    if (number == 1) {
      const Json head = Json::parse(line, nullptr, false);
      const auto study =
          head.is_object() && head.contains("study") ? hex_value(head["study"]) : std::nullopt;
      if (!study || head.value("schema", "") != kSchema) {
        return Error{
            ErrorCode::kInvalidInput,
            fmt::format(
                "{}:1: is not the beginning of a {} journal", quoted_for_message(path_), kSchema)};
      }
      if (*study != fingerprint) {
        return Error{ErrorCode::kInvalidInput,
                     fmt::format("{}: belongs to another study (other options, trace or version of "
                                 "Septule); resume with the same ones, or choose another folder",
                                 quoted_for_message(path_))};
      }
    } else {
      SEPTULE_TRY_STATUS(read_line(line, number));
    }
    whole_bytes_ = end + 1;
  }
  return {};
}

Status StudyJournal::read_line(std::string_view text, int number) {
  const Json line = Json::parse(text, nullptr, false);
  if (!has_right_sum(line)) {
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{}:{}: was changed since it was written (its sum is not that of the "
                             "rest); remove the line to have the run made again",
                             quoted_for_message(path_),
                             number)};
  }
  if (line.is_object() && line.contains("trial") && line["trial"].is_number_unsigned()) {
    if (auto result = trial_of(line)) {
      trials_[line["trial"].get<std::size_t>()] = *std::move(result);
      return {};
    }
  } else if (line.is_object() && line.contains("layout") && line["layout"].is_number_unsigned() &&
             line.contains("mean_jct_s") && line["mean_jct_s"].is_number()) {
    layouts_[line["layout"].get<std::size_t>()] = line["mean_jct_s"].get<double>();
    return {};
  }
  return Error{ErrorCode::kInvalidInput,
               fmt::format("{}:{}: is no finished run; expected a line as docs/formats.md says",
                           quoted_for_message(path_),
                           number)};
}

Status StudyJournal::append(const std::string& line) {
  const std::string whole = line + "\n";
  const std::lock_guard lock(mutex_);
  if (std::fwrite(whole.data(), 1, whole.size(), file_.get()) != whole.size() ||
      std::fflush(file_.get()) != 0) {
    return cannot(path_, "written");
  }
  return {};
}

Status StudyJournal::record_trial(std::size_t index, const sim::TrialResult& result) {
  return append(summed_line(trial_line(index, result)));
}

Status StudyJournal::record_layout(std::size_t index, double mean_jct_s) {
  return append(summed_line(Json{{"layout", index}, {"mean_jct_s", mean_jct_s}}));
}

}  // namespace septule::app
