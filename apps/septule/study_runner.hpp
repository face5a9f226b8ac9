#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace septule::app {

/// Calls work(i) for i from 0 to count - 1 in that order on so many threads (1 = this one only).
/// After a failure no further index is begun; the failure of the lowest index is returned, which is
/// the same for every number of threads. `work` must be fit for being called in parallel.
Status run_parallel(std::size_t count, int threads, const std::function<Status(std::size_t)>& work);

/// Says on standard error how far it is and when it will be done: in one line if that is a
/// terminal, else, with --verbose, in a line of its own every two seconds. Any thread may call
/// advance().
class Progress {
 public:
  Progress(std::string what, std::size_t count);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();
  void advance();
  std::size_t done() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace septule::app
