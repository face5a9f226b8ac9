#include "predict/declared_fit.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <tuple>

namespace septule::predict {

DeclaredFit::DeclaredFit(const SpeedBook& book) : book_(&book) {
  by_memory_.assign(book.plain_profiles().begin(), book.plain_profiles().end());
  const gpu::Geometry& geometry = book.geometry();
  std::ranges::stable_sort(by_memory_, [&geometry](ProfileIndex a, ProfileIndex b) {
    const gpu::GpuInstanceProfile& first = geometry.profile(a);
    const gpu::GpuInstanceProfile& second = geometry.profile(b);
    return std::tuple(first.size(), first.slices) < std::tuple(second.size(), second.slices);
  });
}

/// How many of the plain profiles, least memory first, a job with this need may not use.
int DeclaredFit::level_of(const job::JobSpec& job, Bytes need) const {
  int level = 0;
  for (const ProfileIndex index : by_memory_) {
    // Unknown memory is too little memory; but where nothing was asked for, all is enough.
    const Bytes memory = usable_memory(book_->geometry(), index).value_or(Bytes());
    const bool is_gang_excluded = job.gpus > 1 && index != book_->whole_profile();
    if (memory >= need && !is_gang_excluded) {
      break;
    }
    ++level;
  }
  return level;
}

DeclaredFit::Job DeclaredFit::of(const job::JobSpec& job) const {
  Job of;
  // What the signature needs is in its row already; the rest cuts profiles off.
  Bytes asked = job.memory.value_or(Bytes());
  for (const job::JobPhase& phase : job.phases) {
    asked = std::max(asked, book_->need(phase.signature));
  }
  of.need = std::max(asked, book_->need(job.signature));
  if (!job.phases.empty()) {
    // Nor is it in the row of a later signature what this one needs.
    asked = of.need;
  }
  of.level = level_of(job, asked);
  const SpeedRow& truth = book_->row(job.signature);
  for (std::size_t i = static_cast<std::size_t>(of.level); i < by_memory_.size(); ++i) {
    if (truth.on(by_memory_[i]) > 0) {
      of.smallest = by_memory_[i];
      break;
    }
  }
  return of;
}

bool DeclaredFit::is_cut_by(job::SignatureIndex signature, int level) const {
  for (int i = 0; i < level; ++i) {
    if (book_->speed(signature, by_memory_[static_cast<std::size_t>(i)]) > 0) {
      return true;
    }
  }
  return false;
}

void DeclaredFit::cut(SpeedRow& row, int level) const {
  for (int i = 0; i < level; ++i) {
    row.speed[static_cast<std::size_t>(by_memory_[static_cast<std::size_t>(i)].value())] = 0;
  }
}

bool DeclaredFit::fits(job::SignatureIndex signature, int level, ProfileIndex profile) const {
  const auto end = by_memory_.begin() + std::min<std::ptrdiff_t>(level, std::ssize(by_memory_));
  return book_->speed(signature, profile) > 0 && std::find(by_memory_.begin(), end, profile) == end;
}

}  // namespace septule::predict
