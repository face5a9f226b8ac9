#include "gpu/profile.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "base/text.hpp"

namespace septule::gpu {

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kVerified:
      return "verified";
    case Evidence::kPartial:
      return "partial";
    case Evidence::kInferred:
      return "inferred";
  }
  check_failed("evidence", "an Evidence value is one of the enumerators", __FILE__, __LINE__);
}

std::string_view engine_name(Engine engine) {
  switch (engine) {
    case Engine::kDecoder:
      return "decoder";
    case Engine::kEncoder:
      return "encoder";
    case Engine::kJpeg:
      return "jpeg";
    case Engine::kOpticalFlow:
      return "optical_flow";
  }
  check_failed("engine", "an Engine value is one of the enumerators", __FILE__, __LINE__);
}

std::string_view variant_name(ProfileVariant variant) {
  switch (variant) {
    case ProfileVariant::kPlain:
      return "plain";
    case ProfileVariant::kDoubleMemory:
      return "double_memory";
    case ProfileVariant::kMedia:
      return "media";
    case ProfileVariant::kGraphics:
      return "graphics";
    case ProfileVariant::kAllMedia:
      return "all_media";
    case ProfileVariant::kNoMedia:
      return "no_media";
  }
  check_failed("variant", "a ProfileVariant is one of the enumerators", __FILE__, __LINE__);
}

std::string_view variant_suffix(ProfileVariant variant) {
  switch (variant) {
    case ProfileVariant::kPlain:
    case ProfileVariant::kDoubleMemory:
      return "";
    case ProfileVariant::kMedia:
      return "+me";
    case ProfileVariant::kGraphics:
      return "+gfx";
    case ProfileVariant::kAllMedia:
      return "+me.all";
    case ProfileVariant::kNoMedia:
      return "-me";
  }
  check_failed("variant", "a ProfileVariant is one of the enumerators", __FILE__, __LINE__);
}

bool GpuInstanceProfile::is_verified(std::string_view field) const {
  return evidence != Evidence::kInferred &&
         std::ranges::find(unverified, field) == unverified.end();
}

namespace {

/// Reads one or two digits followed by `letter`; advances `text` past them.
std::optional<int> take_count(std::string_view& text, char letter) {
  std::size_t digits = 0;
  int value = 0;
  while (digits < text.size() && digits < 2 && text[digits] >= '0' && text[digits] <= '9') {
    value = value * 10 + (text[digits] - '0');
    ++digits;
  }
  if (digits == 0 || value == 0 || digits >= text.size() || text[digits] != letter) {
    return std::nullopt;
  }
  text.remove_prefix(digits + 1);
  return value;
}

}  // namespace

std::optional<ProfileNameParts> parse_profile_name(std::string_view text) {
  const std::string lower = lower_case(trimmed(text));
  std::string_view rest = lower;
  if (rest.starts_with("mig ")) {
    rest = trimmed(rest.substr(4));
  }
  ProfileNameParts parts;
  std::string_view probe = rest;
  if (const auto compute = take_count(probe, 'c'); compute && probe.starts_with('.')) {
    parts.compute = ComputeSlices(*compute);
    rest = probe.substr(1);
  }
  parts.gpu_instance_name = std::string(rest);
  const auto slices = take_count(rest, 'g');
  if (!slices || !rest.starts_with('.')) {
    return std::nullopt;
  }
  parts.gpu = ComputeSlices(*slices);
  rest.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9') {
    ++digits;
  }
  constexpr std::size_t kMemoryDigitsMax = 5;
  if (digits == 0 || digits > kMemoryDigitsMax || !rest.substr(digits).starts_with("gb")) {
    return std::nullopt;
  }
  rest.remove_prefix(digits + 2);
  constexpr std::size_t kSuffixMax = 16;
  const bool has_suffix = rest.starts_with('+') || rest.starts_with('-');
  const bool is_plain_text = std::ranges::all_of(rest, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '+' || c == '-';
  });
  if ((!rest.empty() && !has_suffix) || rest.size() == 1 || rest.size() > kSuffixMax ||
      !is_plain_text) {
    return std::nullopt;
  }
  return parts;
}

}  // namespace septule::gpu
