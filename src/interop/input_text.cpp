#include "interop/input_text.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/edit_distance.hpp"
#include "base/text.hpp"

namespace septule::interop {

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

int line_of(std::string_view text, std::size_t at) {
  return static_cast<int>(std::ranges::count(text.substr(0, at), '\n')) + 1;
}

}  // namespace

std::string one_line(std::string_view text, std::size_t bytes_max) {
  std::string quoted = quoted_for_message(text, bytes_max);
  return quoted.substr(1, quoted.size() - 2);
}

Error input_error(std::string_view source_name,
                  int line,
                  std::string_view field,
                  std::string_view what) {
  std::string message = source_name.empty() ? "input" : one_line(source_name);
  if (line > 0) {
    message += fmt::format(":{}", line);
  }
  message += ": ";
  if (!field.empty()) {
    message += fmt::format("{}: ", field);
  }
  message += what;
  return Error{ErrorCode::kInvalidInput, message};
}

Result<std::string_view> checked_text(const InputText& input, std::size_t bytes_max) {
  std::string_view text = input.text;
  if (text.size() > bytes_max) {
    return input_error(
        input.source_name,
        0,
        "",
        fmt::format("the text has {} bytes; at most {} are accepted", text.size(), bytes_max));
  }
  if (text.starts_with(kByteOrderMark)) {
    text.remove_prefix(kByteOrderMark.size());
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    return input_error(input.source_name,
                       input.line,
                       "",
                       "the text is UTF-16; expected UTF-8 (save it again as UTF-8)");
  }
  if (trimmed(text).empty()) {
    return input_error(input.source_name, 0, "", "the text is empty");
  }
  if (const std::size_t at = text.find('\0'); at != std::string_view::npos) {
    return input_error(input.source_name,
                       input.line - 1 + line_of(text, at),
                       "",
                       "a NUL byte; expected plain text (is this a binary or cut-off file?)");
  }
  if (!is_valid_utf8(text)) {
    int line = input.line - 1;
    for (const std::string_view piece : split_lines(text)) {
      ++line;
      if (!is_valid_utf8(piece)) {
        break;
      }
    }
    return input_error(
        input.source_name, line, "", "bytes that are not UTF-8; expected UTF-8 text");
  }
  return text;
}

std::string unknown_name_text(std::string_view kind,
                              std::string_view name,
                              std::span<const std::string> known) {
  std::vector<std::string> nearest = nearest_names(name, known, 1);
  std::erase_if(nearest, [&](const std::string& near) { return !is_likely_meant(name, near); });
  std::string text = fmt::format("unknown {} {}", kind, quoted_for_message(name));
  if (!nearest.empty()) {
    text += fmt::format("; did you mean {}?", nearest.front());
  }
  constexpr std::size_t kListedMax = 12;
  if (known.size() <= kListedMax) {
    text += fmt::format("{} known: {}", nearest.empty() ? ";" : "", joined_with_and(known));
  }
  return text;
}

std::string listed_names(std::span<const std::string> names) {
  constexpr std::size_t kNamedMax = 20;
  std::vector<std::string> texts;
  for (const std::string& name : names.first(std::min(names.size(), kNamedMax))) {
    texts.push_back(one_line(name));
  }
  if (names.size() > kNamedMax) {
    texts.push_back(fmt::format("{} more", names.size() - kNamedMax));
  }
  return joined_with_and(texts);
}

std::string name_fault(std::string_view name) {
  if (name.empty()) {
    return fmt::format("is empty; expected a name of 1 to {} bytes", kNameBytesMax);
  }
  if (name.size() > kNameBytesMax) {
    return fmt::format(
        "has {} bytes; expected a name of 1 to {} bytes", name.size(), kNameBytesMax);
  }
  const std::string unlimited = quoted_for_message(name, 10 * kNameBytesMax);
  if (unlimited != fmt::format("\"{}\"", name)) {
    return fmt::format("{} holds control characters; expected printable text",
                       quoted_for_message(name));
  }
  return {};
}

}  // namespace septule::interop
