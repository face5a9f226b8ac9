#include "interop/trace.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/text.hpp"
#include "interop/limits.hpp"
#include "interop/trace_phases.hpp"
#include "interop/trace_workload.hpp"

namespace septule::interop {

namespace {

constexpr std::int64_t kNanosecondsPerSecond = 1000000000;
constexpr int kNanosecondDigits = 9;

/// `value` / 10^digits without trailing zeros.
std::string decimal_text(std::int64_t value, int digits) {
  std::int64_t unit = 1;
  for (int i = 0; i < digits; ++i) {
    unit *= 10;
  }
  const std::uint64_t magnitude =
      value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  const auto whole = magnitude / static_cast<std::uint64_t>(unit);
  const auto rest = magnitude % static_cast<std::uint64_t>(unit);
  std::string text = fmt::format("{}{}", value < 0 ? "-" : "", whole);
  if (rest != 0) {
    text += fmt::format(".{:0{}}", rest, digits);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes digits off the front of `text`: between `min` and `max` of them.
std::optional<std::int64_t> take_digits(std::string_view& text, std::size_t min, std::size_t max) {
  std::size_t count = 0;
  std::int64_t value = 0;
  while (count < text.size() && count < max && is_digit(text[count])) {
    value = value * 10 + (text[count] - '0');
    ++count;
  }
  if (count < min) {
    return std::nullopt;
  }
  text.remove_prefix(count);
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) {
    return false;
  }
  text.remove_prefix(1);
  return true;
}

/// The fraction after a point as nanoseconds; digits beyond the ninth are dropped.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  std::int64_t value = 0;
  int digits = 0;
  while (!text.empty() && is_digit(text.front())) {
    if (digits < kNanosecondDigits) {
      value = value * 10 + (text.front() - '0');
    }
    ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) {
    return std::nullopt;
  }
  for (; digits < kNanosecondDigits; ++digits) {
    value *= 10;
  }
  return value;
}

bool is_leap(std::int64_t year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

std::int64_t days_in_month(std::int64_t year, std::int64_t month) {
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

/// Days from 1970-01-01; the year is 1970 or later.
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  const std::int64_t before = year - 1;
  std::int64_t days = (year - 1970) * 365 + (before / 4 - before / 100 + before / 400) -
                      (1969 / 4 - 1969 / 100 + 1969 / 400);
  for (std::int64_t m = 1; m < month; ++m) {
    days += days_in_month(year, m);
  }
  return days + day - 1;
}

/// "", "Z", "+08", "+0800", "+08:00" as seconds to the east.
std::optional<std::int64_t> take_offset(std::string_view& text) {
  text = trimmed(text);
  if (text.empty()) {
    return 0;
  }
  if (take(text, 'Z')) {
    return 0;
  }
  const bool is_west = take(text, '-');
  if (!is_west && !take(text, '+')) {
    return std::nullopt;
  }
  const auto hours = take_digits(text, 2, 2);
  if (!hours) {
    return std::nullopt;
  }
  std::int64_t minutes = 0;
  if (!text.empty()) {
    take(text, ':');
    const auto given = take_digits(text, 2, 2);
    if (!given) {
      return std::nullopt;
    }
    minutes = *given;
  }
  constexpr std::int64_t kHoursMax = 14;
  if (*hours > kHoursMax || minutes > 59) {
    return std::nullopt;
  }
  const std::int64_t seconds = *hours * 3600 + minutes * 60;
  return is_west ? -seconds : seconds;
}

std::string gib_text(const std::optional<Bytes>& memory) {
  if (!memory) {
    return "";
  }
  return decimal_text(std::llround(memory->to_gibibytes() * kMemoryStepsPerGibibyte), 6);
}

/// A cell, quoted where its content asks for it.
std::string cell_text(std::string_view text) {
  const bool is_plain = text.find_first_of(",\"\r\n") == std::string_view::npos &&
                        trimmed(text).size() == text.size();
  if (is_plain) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + '"';
}

}  // namespace

std::string seconds_text(Duration duration) {
  return decimal_text(duration.to_nanoseconds(), kNanosecondDigits);
}

std::string gpus_text(GpuMilli gpus) {
  return decimal_text(gpus.value(), 3);
}

std::optional<Duration> parse_seconds(std::string_view text) {
  std::string_view rest = text;
  const bool is_negative = take(rest, '-');
  constexpr std::size_t kWholeDigitsMax = 10;
  const auto whole = take_digits(rest, 1, kWholeDigitsMax);
  if (whole) {
    std::optional<std::int64_t> fraction = 0;
    if (take(rest, '.')) {
      fraction = take_fraction(rest);
    }
    if (rest.empty() && fraction && *whole <= kTraceSecondsMax) {
      const std::int64_t value = *whole * kNanosecondsPerSecond + *fraction;
      return Duration::nanoseconds(is_negative ? -value : value);
    }
  }
  // Exponents and the like: rare, and no digits are lost that the writer had.
  const std::optional<double> number = parse_number(text);
  if (!number || std::abs(*number) > static_cast<double>(kTraceSecondsMax)) {
    return std::nullopt;
  }
  return seconds_to_duration(*number);
}

std::optional<Duration> parse_days_and_clock(std::string_view text) {
  constexpr std::size_t kDigitsMax = 7;
  std::string_view rest = text;
  auto hours = take_digits(rest, 1, kDigitsMax);
  std::int64_t days = 0;
  if (hours && take(rest, '-')) {
    days = *hours;
    hours = take_digits(rest, 2, 2);
    if (!hours || *hours > 23) {
      return std::nullopt;
    }
  }
  const auto minutes = hours && take(rest, ':') ? take_digits(rest, 2, 2) : std::nullopt;
  const auto seconds = minutes && take(rest, ':') ? take_digits(rest, 2, 2) : std::nullopt;
  if (!seconds || !rest.empty() || *minutes > 59 || *seconds > 59) {
    return std::nullopt;
  }
  const std::int64_t total = days * 86400 + *hours * 3600 + *minutes * 60 + *seconds;
  if (total > kTraceSecondsMax) {
    return std::nullopt;
  }
  return Duration::nanoseconds(total * kNanosecondsPerSecond);
}

std::optional<Duration> parse_timestamp(std::string_view text) {
  std::string_view rest = trimmed(text);
  const auto year = take_digits(rest, 4, 4);
  const auto month = year && take(rest, '-') ? take_digits(rest, 1, 2) : std::nullopt;
  const auto day = month && take(rest, '-') ? take_digits(rest, 1, 2) : std::nullopt;
  constexpr std::int64_t kYearMax = 2096;
  if (!day || *year < 1970 || *year > kYearMax || *month < 1 || *month > 12 || *day < 1 ||
      *day > days_in_month(*year, *month) || (!take(rest, ' ') && !take(rest, 'T'))) {
    return std::nullopt;
  }
  const auto hour = take_digits(rest, 1, 2);
  const auto minute = hour && take(rest, ':') ? take_digits(rest, 2, 2) : std::nullopt;
  if (!minute || *hour > 23 || *minute > 59) {
    return std::nullopt;
  }
  std::optional<std::int64_t> second = 0;
  std::optional<std::int64_t> fraction = 0;
  if (take(rest, ':')) {
    second = take_digits(rest, 2, 2);
    if (take(rest, '.')) {
      fraction = take_fraction(rest);
    }
  }
  const auto offset = take_offset(rest);
  if (!second || *second > 60 || !fraction || !offset || !rest.empty()) {
    return std::nullopt;
  }
  const std::int64_t seconds = days_since_1970(*year, *month, *day) * 86400 + *hour * 3600 +
                               *minute * 60 + *second - *offset;
  if (std::abs(seconds) > kTraceSecondsMax) {
    return std::nullopt;
  }
  return Duration::nanoseconds(seconds * kNanosecondsPerSecond + *fraction);
}

std::string trace_csv(const Trace& trace) {
  const bool has_priorities =
      std::ranges::any_of(trace.jobs, [](const TraceJob& job) { return job.priority.has_value(); });
  const bool has_phases =
      std::ranges::any_of(trace.jobs, [](const TraceJob& job) { return !job.phases.empty(); });
  std::string text = fmt::format(
      "{}{}{}\n", kTraceHeading, has_priorities ? ",priority" : "", has_phases ? ",phases" : "");
  const auto seconds_or_nothing = [](const std::optional<Duration>& duration) {
    return duration ? seconds_text(*duration) : std::string();
  };
  for (const TraceJob& job : trace.jobs) {
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}",
                        cell_text(job.id),
                        seconds_text(job.submit - SimTime()),
                        seconds_or_nothing(job.duration),
                        job.gpus ? gpus_text(*job.gpus) : "",
                        cell_text(job.gpu_model),
                        gib_text(job.gpu_memory),
                        cell_text(job.user),
                        cell_text(job.vc),
                        cell_text(job.status),
                        seconds_or_nothing(job.queue),
                        job.cpus ? decimal_text(std::llround(*job.cpus * 1e3), 3) : "",
                        gib_text(job.host_memory),
                        cell_text(job.app));
    if (has_priorities) {
      text += job.priority ? fmt::format(",{}", *job.priority) : ",";
    }
    if (has_phases) {
      text += fmt::format(",{}", cell_text(phases_text(job.phases)));
    }
    text += '\n';
  }
  return text;
}

Trace trace_of_workload(const job::Workload& workload) {
  Trace trace;
  trace.name = workload.name;
  trace.jobs.reserve(workload.jobs.size());
  const bool has_users = std::ranges::any_of(
      workload.jobs, [](const job::JobSpec& spec) { return spec.user != job::UserId(0); });
  const bool has_priorities = std::ranges::any_of(
      workload.jobs, [](const job::JobSpec& spec) { return spec.priority != 0; });
  for (const job::JobSpec& spec : workload.jobs) {
    const job::PerfSignature& signature =
        workload.signatures.at(static_cast<std::size_t>(spec.signature.value()));
    TraceJob job;
    job.id = spec.name;
    job.submit = SimTime() + (spec.submit - workload.jobs.front().submit);
    job.duration = spec.work;
    job.gpus = GpuMilli(spec.gpus * kGpuMilliWhole);
    job.gpu_memory = spec.memory;
    if (!job.gpu_memory && signature.synthetic) {
      job.gpu_memory = signature.memory;  // a measured one's reading is not its need
    }
    job.user = has_users ? fmt::format("{}", spec.user.value()) : std::string();
    job.app = signature.name;
    if (has_priorities) {
      job.priority = spec.priority;
    }
    for (const job::JobPhase& phase : spec.phases) {
      const auto at = static_cast<std::size_t>(phase.signature.value());
      job.phases.push_back({.begins_at = phase.begins_at,
                            .signature = normalised_app(workload.signatures.at(at).name)});
    }
    trace.jobs.push_back(std::move(job));
  }
  trace.has_submit_times =
      trace.jobs.size() < 2 ||
      std::ranges::any_of(trace.jobs, [](const TraceJob& job) { return job.submit != SimTime(); });
  return trace;
}

}  // namespace septule::interop
