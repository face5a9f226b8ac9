#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/edit_distance.hpp"

namespace septule {

namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";

/// Length of the valid UTF-8 sequence that starts at `at`, or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(at);
  if (lead < 0x80U) {
    return 1;
  }
  std::size_t length = 0;
  unsigned code = 0;
  unsigned code_min = 0;
  if ((lead & 0xE0U) == 0xC0U) {
    length = 2, code = lead & 0x1FU, code_min = 0x80;
  } else if ((lead & 0xF0U) == 0xE0U) {
    length = 3, code = lead & 0x0FU, code_min = 0x800;
  } else if ((lead & 0xF8U) == 0xF0U) {
    length = 4, code = lead & 0x07U, code_min = 0x10000;
  }
  if (length == 0 || at + length > text.size()) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0U) != 0x80U) {
      return 0;
    }
    code = (code << 6U) | (byte(at + i) & 0x3FU);
  }
  const bool is_surrogate = code >= 0xD800U && code <= 0xDFFFU;
  return code < code_min || code > 0x10FFFFU || is_surrogate ? 0 : length;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return lower;
}

std::vector<std::string_view> split_outside_brackets(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth <= 0) {
      pieces.push_back(trimmed(text.substr(from, i - from)));
      from = i + 1;
    }
  }
  pieces.push_back(trimmed(text.substr(from)));
  return pieces;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    lines.push_back(line);
    if (end == std::string_view::npos) {
      break;
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() ||
      !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

std::string quoted_for_message(std::string_view text, std::size_t bytes_max) {
  std::string out = "\"";
  std::size_t at = 0;
  while (at < text.size()) {
    std::string piece;
    const std::size_t length = utf8_length(text, at);
    const auto byte = static_cast<unsigned char>(text[at]);
    // Bytes 0x80-0x9F of the C1 block arrive as 0xC2 0x80..0x9F: terminals act on them too.
    const bool is_control =
        byte < 0x20U || byte == 0x7FU ||
        (length == 2 && byte == 0xC2U && static_cast<unsigned char>(text[at + 1]) < 0xA0U);
    if (length == 0 || is_control) {
      const std::size_t count = std::max<std::size_t>(length, 1);
      for (std::size_t i = 0; i < count; ++i) {
        piece += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
      }
      at += count;
    } else {
      piece = text.substr(at, length);
      at += length;
    }
    if (out.size() - 1 + piece.size() > bytes_max) {
      return out + "...\"";
    }
    out += piece;
  }
  return out + "\"";
}

std::vector<std::string> nearest_names(std::string_view text,
                                       std::span<const std::string> candidates,
                                       std::size_t count_max) {
  // Longer names than these are never GPU or profile names; comparing them would be quadratic work.
  constexpr std::size_t kCompareMax = 80;
  const std::string wanted = lower_case(text.substr(0, kCompareMax));
  std::vector<std::pair<std::size_t, std::size_t>> ranked;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string candidate = lower_case(candidates[i]).substr(0, kCompareMax);
    const std::size_t distance = edit_distance(wanted, candidate);
    const bool contains = !wanted.empty() && candidate.find(wanted) != std::string::npos;
    if (contains || distance < std::max(wanted.size(), candidate.size())) {
      ranked.emplace_back(contains ? 0 : distance, i);
    }
  }
  std::ranges::sort(ranked);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ranked.size() && i < count_max; ++i) {
    names.push_back(candidates[ranked[i].second]);
  }
  return names;
}

std::string joined_with_and(std::span<const std::string> items) {
  std::string text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) {
      text += i + 1 == items.size() ? " and " : ", ";
    }
    text += items[i];
  }
  return text;
}

bool is_valid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace septule
