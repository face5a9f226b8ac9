#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/check.hpp"

namespace septule {

/// A list of at most N values kept in place: no heap memory, cheap to copy. For small values on hot
/// paths whose number has a written limit. Going beyond N stops the program. Value; one owner.
template <class T, std::size_t N>
class InlineVector {
 public:
  using value_type = T;

  constexpr std::size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  static constexpr std::size_t capacity() { return N; }
  constexpr bool is_full() const { return size_ == N; }

  constexpr T* begin() { return items_.data(); }
  constexpr T* end() { return items_.data() + size_; }
  constexpr const T* begin() const { return items_.data(); }
  constexpr const T* end() const { return items_.data() + size_; }
  constexpr T& operator[](std::size_t index) { return items_[index]; }
  constexpr const T& operator[](std::size_t index) const { return items_[index]; }
  constexpr T& back() { return items_[size_ - 1]; }
  constexpr const T& back() const { return items_[size_ - 1]; }

  constexpr void push_back(const T& value) {
    SEPTULE_CHECK(size_ < N, "an inline list stays within its limit");
    items_[size_++] = value;
  }
  constexpr void pop_back() { --size_; }
  constexpr void clear() { size_ = 0; }
  /// Keeps the order of the others.
  constexpr void erase_at(std::size_t index) {
    std::move(begin() + index + 1, end(), begin() + index);
    --size_;
  }
  friend constexpr bool operator==(const InlineVector& a, const InlineVector& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<T, N> items_{};
  std::size_t size_ = 0;
};

}  // namespace septule
