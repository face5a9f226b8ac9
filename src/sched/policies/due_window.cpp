#include "sched/policies/due_window.hpp"

namespace septule::sched {

void DueWindow::fill(const ClusterView& view) {
  due_.clear();
  for (const ClusterView::QueueKey& key : view.queue()) {
    if (due_.size() == kLength) {
      break;
    }
    due_.push_back({.job = key.job});
  }
}

bool DueWindow::may_place(std::size_t index) const {
  for (std::size_t i = 0; i < index; ++i) {
    if (!due_[i].is_placed && overtaken(due_[i].job) + due_[i].overtakes >= kOvertakesMax) {
      return false;
    }
  }
  return true;
}

void DueWindow::placed(std::size_t index) {
  due_[index].is_placed = true;
  for (std::size_t i = 0; i < index; ++i) {
    if (!due_[i].is_placed) {
      ++due_[i].overtakes;
    }
  }
}

bool DueWindow::finish(const ClusterView& view) {
  std::size_t placed_count = 0;
  for (const Due& due : due_) {
    std::uint8_t& overtaken = overtaken_[static_cast<std::size_t>(due.job.value())];
    overtaken =
        due.is_placed ? std::uint8_t{0} : static_cast<std::uint8_t>(overtaken + due.overtakes);
    placed_count += due.is_placed ? 1U : 0U;
  }
  return placed_count == view.queue().size();
}

}  // namespace septule::sched
