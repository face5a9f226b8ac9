#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace septule {

/// A running 64-bit digest (FNV-1a over little-endian bytes) of what happened, so that two runs can
/// be compared. Not cryptographic. A value; one owner.
class Digest {
 public:
  void add(std::uint64_t value) {
    for (int byte = 0; byte < 8; ++byte) {
      value_ = (value_ ^ ((value >> (8 * byte)) & 0xFFU)) * 0x100000001B3ULL;
    }
  }
  void add(std::string_view text) {
    for (const char c : text) {
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    add(text.size());
  }
  std::uint64_t value() const { return value_; }
  /// Sixteen lower-case hex digits.
  std::string text() const;

 private:
  std::uint64_t value_ = 0xCBF29CE484222325ULL;
};

}  // namespace septule
