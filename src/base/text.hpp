#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace septule {

/// Without leading and trailing spaces, tabs and line ends (ASCII only; no locale).
std::string_view trimmed(std::string_view text);
/// ASCII lower case; other bytes unchanged.
std::string lower_case(std::string_view text);
/// Splits at each `separator` that stands outside brackets ([] and {}); pieces are trimmed and may
/// be empty. An empty text gives one empty piece.
std::vector<std::string_view> split_outside_brackets(std::string_view text, char separator);
/// Lines without their ends ("\n" or "\r\n").
std::vector<std::string_view> split_lines(std::string_view text);
/// The whole text as a decimal integer (optional '-'); nothing for anything else.
std::optional<std::int64_t> parse_integer(std::string_view text);
/// The whole text as a finite decimal number, read without a locale; nothing for anything else,
/// for NaN and for infinities.
std::optional<double> parse_number(std::string_view text);
/// `text` in double quotes, fit for one line of a message: control characters and invalid UTF-8
/// become \xNN; at most `bytes_max` bytes between the quotes, then "...".
std::string quoted_for_message(std::string_view text, std::size_t bytes_max = 60);
/// Up to `count_max` of `candidates`, nearest first (edit distance, then order given). Only
/// candidates that resemble `text` at all.
std::vector<std::string> nearest_names(std::string_view text,
                                       std::span<const std::string> candidates,
                                       std::size_t count_max);
/// "a, b and c".
std::string joined_with_and(std::span<const std::string> items);
/// Whether the whole text is valid UTF-8 (no surrogates, no overlong forms).
bool is_valid_utf8(std::string_view text);

}  // namespace septule
