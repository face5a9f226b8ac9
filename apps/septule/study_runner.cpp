#include "septule/study_runner.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "septule/output.hpp"

namespace septule::app {

Status run_parallel(std::size_t count,
                    int threads,
                    const std::function<Status(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> has_failed{false};
  std::mutex mutex;
  std::optional<Error> first;
  std::size_t first_index = count;
  const auto body = [&] {
    while (!has_failed) {
      const std::size_t index = next++;
      if (index >= count) {
        return;
      }
      if (const Status done = work(index); !done) {
        const std::lock_guard lock(mutex);
        has_failed = true;
        if (index < first_index) {
          first_index = index;
          first = done.error();
        }
      }
    }
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads && static_cast<std::size_t>(i) < count; ++i) {
    try {
      helpers.emplace_back(body);
    } catch (const std::system_error&) {
      break;  // fewer threads than wished: the work is the same
    }
  }
  body();
  for (std::thread& helper : helpers) {
    helper.join();
  }
  return first ? Status(*first) : Status();
}

struct Progress::State {
  using Clock = std::chrono::steady_clock;

  std::string what;
  std::size_t count = 0;
  bool is_terminal = false;
  std::mutex mutex;
  std::size_t done = 0;
  Clock::time_point begin = Clock::now();
  Clock::time_point said = Clock::now();
};

namespace {

std::string time_left_text(double seconds) {
  const auto whole = std::llround(seconds);
  return whole < 60     ? fmt::format("{} s", whole)
         : whole < 3600 ? fmt::format("{} min {} s", whole / 60, whole % 60)
                        : fmt::format("{} h {} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

Progress::Progress(std::string what, std::size_t count) : state_(std::make_unique<State>()) {
  state_->what = std::move(what);
  state_->count = count;
  state_->is_terminal = isatty(STDERR_FILENO) != 0;
}

Progress::~Progress() {
  if (state_->is_terminal && state_->count > 1) {
    fmt::print(stderr, "\r\x1b[K");
  }
}

std::size_t Progress::done() const {
  const std::lock_guard lock(state_->mutex);
  return state_->done;
}

void Progress::advance() {
  const std::lock_guard lock(state_->mutex);
  ++state_->done;
  const auto now = State::Clock::now();
  const std::chrono::milliseconds pause(state_->is_terminal ? 100 : 2000);
  if (now - state_->said < pause || state_->count < 2) {
    return;
  }
  state_->said = now;
  const double elapsed = std::chrono::duration<double>(now - state_->begin).count();
  const auto done = static_cast<double>(state_->done);
  const auto left = static_cast<double>(state_->count - state_->done);
  const std::string left_text = time_left_text(elapsed / done * left);
  if (!state_->is_terminal) {
    say_detail(fmt::format(
        "{}: {} of {} done, {} left", state_->what, state_->done, state_->count, left_text));
    return;
  }
  constexpr std::size_t kColumns = 30;
  const std::size_t full = kColumns * state_->done / state_->count;
  fmt::print(stderr,
             "\r\x1b[K{} [{}{}] {}/{}, {} left",
             state_->what,
             std::string(full, '#'),
             std::string(kColumns - full, '.'),
             state_->done,
             state_->count,
             left_text);
  std::fflush(stderr);  // NOLINT(cert-err33-c): nothing depends on it
}

}  // namespace septule::app
