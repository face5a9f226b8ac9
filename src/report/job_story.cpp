#include "report/job_story.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "report/number_text.hpp"
#include "report/table.hpp"

namespace septule::report {

namespace {

constexpr std::size_t kLineBytesMax = 400;

/// Seconds for reading: rounded to milliseconds.
std::string story_seconds(Duration duration) {
  return fixed_text(duration.to_seconds(), 3);
}

/// Decimals that write all of these times without rounding: 3, 6 or 9.
int exact_decimals(const std::array<Duration, job::kTimeKindCount>& times) {
  const auto is_multiple_of = [&](std::int64_t nanoseconds) {
    return std::ranges::all_of(
        times, [&](Duration time) { return time.to_nanoseconds() % nanoseconds == 0; });
  };
  return is_multiple_of(1000000) ? 3 : is_multiple_of(1000) ? 6 : 9;
}

/// Seconds without rounding, with so many decimals, so that a column of them lines up.
std::string padded_seconds(Duration duration, int decimals) {
  std::string text = exact_seconds_text(duration);
  const std::size_t point = text.find('.');
  text += point == std::string::npos ? "." : "";
  const std::size_t there = text.size() - text.find('.') - 1;
  return text + std::string(static_cast<std::size_t>(decimals) - there, '0');
}

std::string relative_seconds(Duration since_submit) {
  return (since_submit.to_nanoseconds() < 0 ? "" : "+") + story_seconds(since_submit) + " s";
}

/// Text on one line of a terminal, whatever it holds.
std::string one_line(std::string_view text) {
  const bool is_plain = is_valid_utf8(text) && std::ranges::none_of(text, [](char c) {
                          return static_cast<unsigned char>(c) < 0x20U || c == '\x7f';
                        });
  return is_plain ? std::string(text) : quoted_for_message(text, kLineBytesMax);
}

std::string fate(const job::JobOutcome& outcome) {
  if (outcome.state == job::JobState::kRejected) {
    return "rejected: it fits no GPU of the cluster";
  }
  if (!outcome.finish.has_value()) {
    return "did not finish";
  }
  const Duration jct = *outcome.finish - outcome.submit;
  std::string text = fmt::format("done, JCT {} s", story_seconds(jct));
  if (outcome.ideal > Duration()) {
    text += fmt::format(", {} times the {} s alone on the whole GPU",
                        fixed_text(jct.to_seconds() / outcome.ideal.to_seconds(), 2),
                        story_seconds(outcome.ideal));
  }
  return text;
}

std::string event_lines(const job::JobOutcome& outcome, std::span<const StoryLine> lines) {
  std::vector<StoryLine> sorted(lines.begin(), lines.end());
  std::ranges::stable_sort(sorted, {}, &StoryLine::time);
  Table table({{"after submission", Align::kRight}, {"what"}});
  for (const StoryLine& line : sorted) {
    table.add_row({relative_seconds(line.time - outcome.submit), one_line(line.text)});
  }
  return table.is_empty() ? std::string("Nothing else is known of it.\n") : table.text();
}

std::string time_lines(const job::JobOutcome& outcome) {
  Duration sum;
  for (const Duration time : outcome.times) {
    sum += time;
  }
  const auto share = [&](Duration part) {
    return sum > Duration() ? fixed_text(100 * part.to_seconds() / sum.to_seconds(), 1) + " %"
                            : std::string("N/A");
  };
  const int decimals = exact_decimals(outcome.times);
  Table table({{"time"}, {"seconds", Align::kRight}, {"share", Align::kRight}});
  for (int kind = 0; kind < job::kTimeKindCount; ++kind) {
    const Duration time = outcome.times[static_cast<std::size_t>(kind)];
    table.add_row({std::string(job::time_kind_name(static_cast<job::TimeKind>(kind))),
                   padded_seconds(time, decimals),
                   share(time)});
  }
  table.add_row({"sum", padded_seconds(sum, decimals), share(sum)});
  return table.text();
}

}  // namespace

std::string job_story(const job::JobOutcome& outcome,
                      std::string_view name,
                      std::span<const StoryLine> lines) {
  std::string out = fmt::format("Job {}", outcome.id.value());
  out += name.empty() ? std::string() : fmt::format(" ({})", one_line(name));
  out += fmt::format(": {}.\n", fate(outcome));
  out += fmt::format(
      "Submitted {} s after the start of the trace; {}; checkpoints {}, "
      "characterisation runs {}, changes of GPU {}.\n\n",
      story_seconds(outcome.submit - SimTime()),
      outcome.first_start.has_value()
          ? "first start " + relative_seconds(*outcome.first_start - outcome.submit)
          : std::string("never started"),
      outcome.checkpoints,
      outcome.characterisations,
      outcome.gpu_changes);
  return out + event_lines(outcome, lines) + "\n" + time_lines(outcome);
}

}  // namespace septule::report
