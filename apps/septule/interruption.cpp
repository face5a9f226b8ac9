#include "septule/interruption.hpp"

#include <atomic>
#include <csignal>
#include <ctime>
#include <system_error>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "septule/output.hpp"

namespace septule::app {

namespace {

/// Runs in a thread that does not block the signal: one that a library started before main()
/// (OpenBLAS does). That thread blocks it from now on, and the signal goes back to the process, to
/// whoever waits for it. Only async-signal-safe calls.
void hand_on(int signal, siginfo_t* /*info*/, void* context) {
  sigaddset(&static_cast<ucontext_t*>(context)->uc_sigmask, signal);
  kill(getpid(), signal);
}

}  // namespace

struct Interruption::State {
  std::string first_note;
  sigset_t watched{};
  sigset_t before{};
  std::vector<std::pair<int, struct sigaction>> actions;  ///< to be restored
  std::atomic<int> first{0};
  std::atomic<bool> is_over{false};
  std::thread watcher;

  void restore() {
    for (const auto& [signal, action] : actions) {
      sigaction(signal, &action, nullptr);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// Waits for signals a little at a time, so that it notices when it is over.
  void watch() {
    constexpr std::timespec kPause{.tv_sec = 0, .tv_nsec = 50000000};
    while (!is_over) {
      const int signal = sigtimedwait(&watched, nullptr, &kPause);
      if (signal > 0 && first != 0) {
        _exit(exit_code_of_signal(signal));
      }
      if (signal > 0) {
        first = signal;
        say_note(fmt::format("interrupted: {}; once more to stop at once", first_note));
      }
    }
  }
};

Interruption::Interruption(std::string first_note) : state_(std::make_unique<State>()) {
  state_->first_note = std::move(first_note);
  sigemptyset(&state_->watched);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&state_->watched, signal);
      struct sigaction handed_on{};
      handed_on.sa_sigaction = hand_on;
      handed_on.sa_flags = SA_SIGINFO | SA_RESTART;
      sigemptyset(&handed_on.sa_mask);
      sigaction(signal, &handed_on, nullptr);
      state_->actions.emplace_back(signal, now);
    }
  }
  pthread_sigmask(SIG_BLOCK, &state_->watched, &state_->before);
  try {
    state_->watcher = std::thread([state = state_.get()] { state->watch(); });
  } catch (const std::system_error&) {
    state_->restore();  // signals end the program as ever
  }
}

Interruption::~Interruption() {
  state_->is_over = true;
  if (state_->watcher.joinable()) {
    state_->watcher.join();
    state_->restore();
  }
}

std::optional<int> Interruption::signal() const {
  const int signal = state_->first;
  return signal != 0 ? std::optional(signal) : std::nullopt;
}

int exit_code_of_signal(int signal) {
  constexpr int kBySignal = 128;
  return kBySignal + signal;
}

}  // namespace septule::app
