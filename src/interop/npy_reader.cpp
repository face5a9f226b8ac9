#include "interop/npy_reader.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kPreambleBytes = 10;  // magic, version, length of the heading
constexpr std::size_t kValueBytes = 4;

std::uint32_t byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

/// The heading is a Python dictionary with three known keys, which NumPy writes in one form.
class HeadingReader {
 public:
  HeadingReader(std::string_view heading, std::string_view source_name)
      : rest_(heading), source_name_(source_name) {}

  Result<std::vector<std::size_t>> read() {
    if (!take("{")) {
      return not_understood();
    }
    while (!take("}")) {
      SEPTULE_TRY_STATUS(read_entry());
      if (!take(",") && rest_.substr(0, 1) != "}") {
        return not_understood();
      }
    }
    if (!trimmed(rest_).empty() || !has_type_ || !has_order_ || !shape_) {
      return not_understood();
    }
    return *std::move(shape_);
  }

 private:
  Error fault(std::string_view what) const { return input_error(source_name_, 0, "", what); }
  Error not_understood() const {
    return fault(
        fmt::format("the heading of the .npy file is not understood at {}; expected "
                    "descr, fortran_order and shape, as NumPy writes them",
                    quoted_for_message(rest_, 40)));
  }
  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n')) {
      rest_.remove_prefix(1);
    }
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) {
      return false;
    }
    rest_.remove_prefix(token.size());
    skip_blanks();
    return true;
  }
  /// Up to the next comma or closing brace, without it.
  std::string_view word() {
    const std::string_view found = rest_.substr(0, rest_.find_first_of(",}"));
    rest_.remove_prefix(found.size());
    return trimmed(found);
  }

  Status read_entry() {
    if (take("'descr':")) {
      const std::string_view type = word();
      if (has_type_ || type != "'<f4'") {
        return fault(fmt::format("holds values of type {}; expected '<f4' (little-endian float32)",
                                 quoted_for_message(type, 40)));
      }
      has_type_ = true;
    } else if (take("'fortran_order':")) {
      const std::string_view order = word();
      if (has_order_ || order != "False") {
        return fault(
            fmt::format("has fortran_order {}; expected False (the last axis runs fastest)",
                        quoted_for_message(order, 40)));
      }
      has_order_ = true;
    } else if (!shape_ && take("'shape':")) {
      return read_shape();
    } else {
      return not_understood();
    }
    return {};
  }

  Status read_shape() {
    if (!take("(")) {
      return not_understood();
    }
    std::vector<std::size_t> shape;
    std::size_t count = 1;
    while (!take(")")) {
      const std::string_view text = trimmed(rest_.substr(0, rest_.find_first_of(",)")));
      const std::optional<std::int64_t> length = parse_integer(text);
      const std::size_t values_max = kNpyBytesMax / kValueBytes;
      if (!length || *length < 1 || static_cast<std::size_t>(*length) > values_max / count ||
          shape.size() == kNpyAxesMax) {
        return fault(
            fmt::format("has an axis of length {} in its shape; expected at most {} axes of length "
                        "1 or more, and at most {} values in all",
                        quoted_for_message(text, 40),
                        kNpyAxesMax,
                        values_max));
      }
      shape.push_back(static_cast<std::size_t>(*length));
      count *= shape.back();
      rest_.remove_prefix(rest_.find_first_of(",)") == std::string_view::npos
                              ? rest_.size()
                              : rest_.find_first_of(",)"));
      take(",");
    }
    shape_ = std::move(shape);
    return {};
  }

  std::string_view rest_;
  std::string_view source_name_;
  bool has_type_ = false;
  bool has_order_ = false;
  std::optional<std::vector<std::size_t>> shape_;
};

}  // namespace

Result<NpyArray> read_npy(const InputText& input) {
  const std::string_view text = input.text;
  const auto fault = [&](std::string_view what) {
    return input_error(input.source_name, 0, "", what);
  };
  if (text.size() > kNpyBytesMax) {
    return fault(fmt::format("is larger than {} bytes, the limit for a .npy file", kNpyBytesMax));
  }
  if (text.size() < kPreambleBytes || !text.starts_with(kMagic)) {
    return fault("is not a .npy file (it does not begin with \\x93NUMPY)");
  }
  if (byte_at(text, 6) != 1 || byte_at(text, 7) != 0) {
    return fault(fmt::format("is a .npy file of version {}.{}; expected version 1.0",
                             byte_at(text, 6),
                             byte_at(text, 7)));
  }
  const std::size_t heading_bytes = byte_at(text, 8) | (byte_at(text, 9) << 8U);
  if (text.size() - kPreambleBytes < heading_bytes) {
    return fault(fmt::format("ends within its heading: {} bytes follow the first {}, expected {}",
                             text.size() - kPreambleBytes,
                             kPreambleBytes,
                             heading_bytes));
  }
  NpyArray array;
  SEPTULE_TRY(array.shape,
              HeadingReader(text.substr(kPreambleBytes, heading_bytes), input.source_name).read());
  std::size_t count = 1;
  for (const std::size_t length : array.shape) {
    count *= length;
  }
  const std::string_view payload = text.substr(kPreambleBytes + heading_bytes);
  if (payload.size() != count * kValueBytes) {
    return fault(fmt::format("holds {} bytes of values; its shape ({}) asks for {}",
                             payload.size(),
                             fmt::join(array.shape, ", "),
                             count * kValueBytes));
  }
  array.values.reserve(count);
  for (std::size_t i = 0; i < payload.size(); i += kValueBytes) {
    array.values.push_back(
        std::bit_cast<float>(byte_at(payload, i) | (byte_at(payload, i + 1) << 8U) |
                             (byte_at(payload, i + 2) << 16U) | (byte_at(payload, i + 3) << 24U)));
  }
  return array;
}

}  // namespace septule::interop
