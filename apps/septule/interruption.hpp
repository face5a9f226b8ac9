#pragma once

#include <memory>
#include <optional>
#include <string>

namespace septule::app {

/// Turns SIGINT and SIGTERM into a question while it lives: the first one is remembered, so that
/// what is under way can end in order; another ends the program at once, as without it. Signals
/// that whoever started the program wants ignored (nohup, a shell's background job) stay ignored.
/// Made before the threads that do the work; one at a time. signal() may be asked by any thread.
class Interruption {
 public:
  /// `first_note`: what the first signal has said, after "interrupted: "; what is ended in order.
  explicit Interruption(std::string first_note);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  /// The first signal that came.
  std::optional<int> signal() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What a shell sees of a program that a signal ended: 130 for SIGINT, 143 for SIGTERM.
int exit_code_of_signal(int signal);

}  // namespace septule::app
