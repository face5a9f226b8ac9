#include "sched/admission_index.hpp"

#include <algorithm>
#include <bit>

namespace septule::sched {

AdmissionIndex::AdmissionIndex(int gpu_count, int rank_count)
    : rank_count_(rank_count),
      buckets_(static_cast<std::size_t>((kJobCountMax + 1) * rank_count),
               IndexSet(static_cast<std::size_t>(gpu_count))),
      filled_(kJobCountMax + 1, 0),
      bucket_of_(static_cast<std::size_t>(gpu_count), kNone) {}

void AdmissionIndex::set(GpuId gpu, int job_count, int bound) {
  if (bound < 0 || job_count > kJobCountMax) {
    erase(gpu);
    return;
  }
  const auto wanted = static_cast<std::int16_t>(bucket(job_count, bound));
  if (bucket_of_[at(gpu)] == wanted) {
    return;
  }
  erase(gpu);
  bucket_of_[at(gpu)] = wanted;
  buckets_[static_cast<std::size_t>(wanted)].insert(at(gpu));
  filled_[static_cast<std::size_t>(job_count)] |= std::uint32_t{1} << static_cast<unsigned>(bound);
}

void AdmissionIndex::erase(GpuId gpu) {
  const std::int16_t now = bucket_of_[at(gpu)];
  if (now == kNone) {
    return;
  }
  bucket_of_[at(gpu)] = kNone;
  IndexSet& set = buckets_[static_cast<std::size_t>(now)];
  set.erase(at(gpu));
  if (set.empty()) {
    filled_[static_cast<std::size_t>(now / rank_count_)] &=
        ~(std::uint32_t{1} << static_cast<unsigned>(now % rank_count_));
  }
}

std::optional<GpuId> AdmissionIndex::find(int rank) const {
  for (int job_count = 0; job_count <= kJobCountMax; ++job_count) {
    std::uint32_t bounds = filled_[static_cast<std::size_t>(job_count)] &
                           (~std::uint32_t{0} << static_cast<unsigned>(rank));
    std::optional<std::size_t> first;
    for (; bounds != 0; bounds &= bounds - 1) {
      const std::optional<std::size_t> here =
          buckets_[bucket(job_count, std::countr_zero(bounds))].first();
      if (here.has_value() && (!first.has_value() || *here < *first)) {
        first = here;
      }
    }
    if (first.has_value()) {
      return GpuId(static_cast<int>(*first));
    }
  }
  return std::nullopt;
}

void AdmissionIndex::find_several(int rank, std::size_t count_max, std::vector<GpuId>& out) const {
  for (int job_count = 0; job_count <= kJobCountMax && count_max > 0; ++job_count) {
    std::size_t from = 0;
    while (count_max > 0) {
      std::uint32_t bounds = filled_[static_cast<std::size_t>(job_count)] &
                             (~std::uint32_t{0} << static_cast<unsigned>(rank));
      std::optional<std::size_t> next;
      for (; bounds != 0; bounds &= bounds - 1) {
        const std::optional<std::size_t> here =
            buckets_[bucket(job_count, std::countr_zero(bounds))].first_from(from);
        if (here.has_value() && (!next.has_value() || *here < *next)) {
          next = here;
        }
      }
      if (!next.has_value()) {
        break;
      }
      out.emplace_back(static_cast<int>(*next));
      from = *next + 1;
      --count_max;
    }
  }
}

std::size_t AdmissionIndex::empty_count() const {
  std::size_t count = 0;
  for (int bound = 0; bound < rank_count_; ++bound) {
    count += buckets_[bucket(0, bound)].size();
  }
  return count;
}

std::optional<GpuId> AdmissionIndex::first_empty(int from) const {
  std::optional<std::size_t> first;
  for (int bound = 0; bound < rank_count_; ++bound) {
    const std::optional<std::size_t> here =
        buckets_[bucket(0, bound)].first_from(static_cast<std::size_t>(from));
    if (here.has_value() && (!first.has_value() || *here < *first)) {
      first = here;
    }
  }
  if (!first.has_value()) {
    return std::nullopt;
  }
  return GpuId(static_cast<int>(*first));
}

}  // namespace septule::sched
