#pragma once

#include <cstddef>
#include <iterator>

namespace septule::interop {

/// Where the lexer has got to: lines are those of the character read last, so that a number, which
/// the lexer ends only at the character after it, still counts for its own line.
struct ReadPosition {
  int newlines = 0;
  int line = 1;
};

/// A character iterator that keeps count of lines in `position`, which outlives it.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, ReadPosition* position) : at_(at), position_(position) {}

  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->line = position_->newlines + 1;
    if (*at_ == '\n') {
      ++position_->newlines;
    }
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  ReadPosition* position_;
};

}  // namespace septule::interop
