#include "base/index_set.hpp"

#include "base/check.hpp"

namespace septule {

namespace {
constexpr std::size_t kWordBits = 64;

std::uint64_t bit(std::size_t index) {
  return std::uint64_t{1} << (index % kWordBits);
}
}  // namespace

IndexSet::IndexSet(std::size_t capacity) {
  std::size_t count = capacity;
  do {
    count = (count + kWordBits - 1) / kWordBits;
    levels_.emplace_back(count == 0 ? 1 : count, 0);
  } while (count > 1);
}

void IndexSet::insert(std::size_t index) {
  SEPTULE_CHECK(!levels_.empty() && index / kWordBits < levels_[0].size(),
                "an index is below the capacity of its set");
  if (contains(index)) {
    return;
  }
  ++size_;
  for (auto& level : levels_) {
    level[index / kWordBits] |= bit(index);
    index /= kWordBits;
  }
}

void IndexSet::erase(std::size_t index) {
  if (!contains(index)) {
    return;
  }
  --size_;
  for (auto& level : levels_) {
    std::uint64_t& word = level[index / kWordBits];
    word &= ~bit(index);
    if (word != 0) {
      return;
    }
    index /= kWordBits;
  }
}

bool IndexSet::contains(std::size_t index) const {
  return !levels_.empty() && index / kWordBits < levels_[0].size() &&
         (levels_[0][index / kWordBits] & bit(index)) != 0;
}

std::optional<std::size_t> IndexSet::first_from(std::size_t from) const {
  if (size_ == 0) {
    return std::nullopt;
  }
  // Up: the first word at or after `from` that holds something; down: its smallest member.
  std::size_t level = 0;
  std::size_t index = from;
  while (level < levels_.size()) {
    const std::size_t word = index / kWordBits;
    if (word < levels_[level].size()) {
      const std::uint64_t rest = levels_[level][word] & (~std::uint64_t{0} << (index % kWordBits));
      if (rest != 0) {
        index = word * kWordBits + static_cast<std::size_t>(std::countr_zero(rest));
        break;
      }
    }
    index = word + 1;
    ++level;
  }
  if (level == levels_.size()) {
    return std::nullopt;
  }
  for (; level > 0; --level) {
    const std::uint64_t word = levels_[level - 1][index];
    index = index * kWordBits + static_cast<std::size_t>(std::countr_zero(word));
  }
  return index;
}

}  // namespace septule
