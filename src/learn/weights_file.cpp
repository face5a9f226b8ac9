#include "learn/weights_file.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.hpp"
#include "base/text.hpp"

namespace septule::learn {

namespace {

using OrderedJson = nlohmann::ordered_json;  // for writing: fields stay in our order
using Json = nlohmann::json;                 // for reading: finding a field is cheap

constexpr std::string_view kMagic = "septule-weights";
constexpr std::size_t kHeaderBytesMax = std::size_t{1} << 20U;
constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kTensorsMax = 4096;
constexpr std::size_t kRankMax = 4;
constexpr std::size_t kFloatBytes = 4;
constexpr std::size_t kDataDigestLength = 16;
constexpr std::string_view kDigestField = "\"digest\"";

Error invalid(std::string what) {
  return {ErrorCode::kInvalidInput, std::move(what)};
}

/// Values of a tensor of this shape; nothing if the shape is not valid or beyond every file.
std::optional<std::size_t> shape_size(std::span<const int> shape) {
  if (shape.empty() || shape.size() > kRankMax) {
    return std::nullopt;
  }
  std::size_t size = 1;
  for (const int extent : shape) {
    if (extent < 1) {
      return std::nullopt;
    }
    size *= static_cast<std::size_t>(extent);  // below 2^24 x 2^31: no overflow
    if (size > kWeightsBytesMax / kFloatBytes) {
      return std::nullopt;
    }
  }
  return size;
}

std::string shape_text(std::span<const int> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Status check_shape(const Tensor& tensor) {
  if (shape_size(tensor.shape).has_value()) {
    return {};
  }
  return invalid(
      fmt::format("the shape of tensor {} is {}; valid are 1 to {} whole numbers from 1 up, whose "
                  "values fit a file of {} MiB",
                  quoted_for_message(tensor.name),
                  shape_text(tensor.shape),
                  kRankMax,
                  kWeightsBytesMax >> 20U));
}

Status check_text(std::string_view field, std::string_view text) {
  if (is_valid_utf8(text)) {
    return {};
  }
  return invalid(fmt::format("{} is {}, which is not UTF-8", field, quoted_for_message(text)));
}

Status check_numbers(std::string_view field, const std::map<std::string, double>& numbers) {
  for (const auto& [name, number] : numbers) {
    SEPTULE_TRY_STATUS(check_text("a name in " + std::string(field), name));
    if (!std::isfinite(number)) {
      return invalid(
          fmt::format("{} of {} is not a finite number", quoted_for_message(name), field));
    }
  }
  return {};
}

Status check_recipe(const TrainingRecipe& recipe) {
  SEPTULE_TRY_STATUS(check_text("the command of the recipe", recipe.command));
  const bool is_hexadecimal = std::ranges::all_of(recipe.data_digest, [](const char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (recipe.data_digest.size() != kDataDigestLength || !is_hexadecimal) {
    return invalid(fmt::format("data_digest of the recipe is {}, not {} hexadecimal digits",
                               quoted_for_message(recipe.data_digest),
                               kDataDigestLength));
  }
  if (recipe.rows < 0) {
    return invalid(fmt::format("rows of the recipe is {}; valid is 0 or more", recipe.rows));
  }
  return check_numbers("the metrics", recipe.metrics);
}

/// Names and shapes, before any value is looked at.
Status check_layers(std::span<const Tensor> tensors) {
  if (tensors.size() > kTensorsMax) {
    return invalid(
        fmt::format("{} tensors are more than the {} allowed", tensors.size(), kTensorsMax));
  }
  std::set<std::string_view> names;
  for (const Tensor& tensor : tensors) {
    SEPTULE_TRY_STATUS(check_text("the name of a tensor", tensor.name));
    if (tensor.name.empty() || tensor.name.size() > kNameBytesMax) {
      return invalid(fmt::format("a tensor has the name {}; valid are 1 to {} bytes",
                                 quoted_for_message(tensor.name),
                                 kNameBytesMax));
    }
    if (!names.insert(tensor.name).second) {
      return invalid(fmt::format("there are two tensors {}", quoted_for_message(tensor.name)));
    }
    SEPTULE_TRY_STATUS(check_shape(tensor));
  }
  return {};
}

Status check_values(const Tensor& tensor) {
  const auto wrong =
      std::ranges::find_if_not(tensor.data, [](const float value) { return std::isfinite(value); });
  if (wrong == tensor.data.end()) {
    return {};
  }
  return invalid(fmt::format("value {} of tensor {} is not a finite number",
                             wrong - tensor.data.begin(),
                             quoted_for_message(tensor.name)));
}

/// The second line up to its last field, the digest.
std::string header_text(const NetworkWeights& weights, std::size_t payload_bytes) {
  OrderedJson layers = OrderedJson::array();
  for (const Tensor& tensor : weights.tensors) {
    layers.push_back(OrderedJson{{"name", tensor.name}, {"shape", tensor.shape}});
  }
  OrderedJson header;
  header["kind"] = weights.kind;
  header["settings"] = OrderedJson(weights.settings);
  header["layers"] = std::move(layers);
  header["recipe"] = OrderedJson{{"command", weights.recipe.command},
                                 {"seed", weights.recipe.seed},
                                 {"data_digest", weights.recipe.data_digest},
                                 {"rows", weights.recipe.rows},
                                 {"metrics", OrderedJson(weights.recipe.metrics)}};
  header["payload_bytes"] = payload_bytes;
  // Invalid UTF-8 has been refused before; "replace" only keeps the library from throwing.
  std::string text = header.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  text.back() = ',';
  return text;
}

std::string digest_ending(std::string_view header, std::string_view payload) {
  Digest digest;
  digest.add(header);
  digest.add(payload);
  return fmt::format("{}:\"{}\"}}", kDigestField, digest.text());
}

void append_values(std::string* out, std::span<const float> values) {
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      out->push_back(static_cast<char>((bits >> shift) & 0xFFU));
    }
  }
}

std::vector<float> read_values(std::string_view bytes) {
  std::vector<float> values;
  values.reserve(bytes.size() / kFloatBytes);
  for (std::size_t at = 0; at + kFloatBytes <= bytes.size(); at += kFloatBytes) {
    std::uint32_t bits = 0;
    for (std::size_t byte = 0; byte < kFloatBytes; ++byte) {
      bits |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + byte]))
              << (8 * byte);
    }
    values.push_back(std::bit_cast<float>(bits));
  }
  return values;
}

/// Reads the fields of the second line. Every method leaves the first fault in fault_ and returns
/// something harmless.
class HeaderReader {
 public:
  struct Header {
    NetworkWeights weights;  ///< tensors without data
    std::uint64_t payload_bytes = 0;
  };

  Result<Header> read(const Json& json) {
    Header header;
    only_fields(json,
                "the second line",
                {"kind", "settings", "layers", "recipe", "payload_bytes", "digest"});
    header.weights.kind = text(json, "kind");
    header.weights.settings = numbers(json, "settings");
    for (const Json& layer : array(json, "layers")) {
      only_fields(layer, "a layer", {"name", "shape"});
      header.weights.tensors.push_back(
          {.name = text(layer, "name"), .shape = shape(layer), .data = {}});
    }
    header.payload_bytes = whole(json, "payload_bytes", UINT64_MAX);
    const Json& recipe = field(json, "recipe");
    only_fields(recipe, "recipe", {"command", "seed", "data_digest", "rows", "metrics"});
    header.weights.recipe = {.command = text(recipe, "command"),
                             .seed = whole(recipe, "seed", UINT64_MAX),
                             .data_digest = text(recipe, "data_digest"),
                             .rows = static_cast<int>(whole(recipe, "rows", INT32_MAX)),
                             .metrics = numbers(recipe, "metrics")};
    if (fault_.has_value()) {
      return invalid(*fault_);
    }
    return header;
  }

 private:
  void fail(std::string what) {
    if (!fault_.has_value()) {
      fault_ = std::move(what);
    }
  }
  void only_fields(const Json& object,
                   std::string_view where,
                   std::initializer_list<std::string_view> names) {
    if (!object.is_object()) {
      fail(fmt::format("{} is not a JSON object", where));
      return;
    }
    for (const auto& item : object.items()) {
      if (std::ranges::find(names, item.key()) == names.end()) {
        fail(fmt::format("{} has the unknown field {}; known are {}",
                         where,
                         quoted_for_message(item.key()),
                         fmt::join(names, ", ")));
      }
    }
  }
  const Json& field(const Json& object, const std::string& name) {
    if (object.is_object()) {
      const auto found = object.find(name);
      if (found != object.end()) {
        return *found;
      }
    }
    fail(fmt::format("the field {} is missing in the second line", name));
    return none_;
  }
  std::string text(const Json& object, const std::string& name) {
    const Json& value = field(object, name);
    if (value.is_string()) {
      return value.get_ref<const std::string&>();
    }
    fail(fmt::format("the field {} is not a text", name));
    return {};
  }
  std::uint64_t whole(const Json& object, const std::string& name, std::uint64_t max) {
    const Json& value = field(object, name);
    if (value.is_number_unsigned() && value.get<std::uint64_t>() <= max) {
      return value.get<std::uint64_t>();
    }
    fail(fmt::format("the field {} is not a whole number from 0 to {}", name, max));
    return 0;
  }
  const Json& array(const Json& object, const std::string& name) {
    const Json& value = field(object, name);
    if (value.is_array()) {
      return value;
    }
    fail(fmt::format("the field {} is not a list", name));
    return none_;
  }
  std::vector<int> shape(const Json& layer) {
    std::vector<int> out;
    for (const Json& extent : array(layer, "shape")) {
      if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > INT32_MAX) {
        fail("a shape holds something that is not a whole number from 1 up");
        return {};
      }
      out.push_back(static_cast<int>(extent.get<std::uint64_t>()));
    }
    return out;
  }
  std::map<std::string, double> numbers(const Json& object, const std::string& name) {
    std::map<std::string, double> out;
    const Json& value = field(object, name);
    if (!value.is_object()) {
      fail(fmt::format("the field {} is not a JSON object", name));
      return out;
    }
    for (const auto& item : value.items()) {
      if (!item.value().is_number()) {
        fail(fmt::format("{} of {} is not a number", quoted_for_message(item.key()), name));
        return out;
      }
      out[item.key()] = item.value().get<double>();
    }
    return out;
  }

  std::optional<std::string> fault_;
  const Json none_ = Json::array();  ///< stands for a missing list: nothing to read
};

Result<HeaderReader::Header> read_header(std::string_view line) {
  Json json;
  try {
    json = Json::parse(line);
    return HeaderReader().read(json);
  } catch (const std::exception& problem) {
    return invalid(fmt::format("the second line is not valid JSON: {}",
                               quoted_for_message(problem.what(), 200)));
  }
}

Status check_first_line(std::string_view line) {
  const std::string expected = fmt::format("{} {}", kMagic, kWeightsVersion);
  if (line == expected) {
    return {};
  }
  if (line.starts_with(std::string(kMagic) + " ")) {
    return invalid(fmt::format("version {} of the format is not known; this program reads {}",
                               quoted_for_message(line.substr(kMagic.size() + 1)),
                               kWeightsVersion));
  }
  return invalid(fmt::format(
      "not a weights file: its first line is {}, not \"{}\"", quoted_for_message(line), expected));
}

/// Takes the next line; nothing if no line ends within `bytes_max`.
std::optional<std::string_view> take_line(std::string_view* rest, std::size_t bytes_max) {
  const std::size_t end = rest->substr(0, bytes_max).find('\n');
  if (end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view line = rest->substr(0, end);
  rest->remove_prefix(end + 1);
  return line;
}

Status check_payload_size(const HeaderReader::Header& header, std::size_t found) {
  std::uint64_t expected = 0;  // at most 2^12 tensors of 2^26 bytes
  for (const Tensor& tensor : header.weights.tensors) {
    expected += shape_size(tensor.shape).value_or(0) * kFloatBytes;
  }
  if (expected != header.payload_bytes) {
    return invalid(
        fmt::format("payload_bytes is {}, but the layers need {}", header.payload_bytes, expected));
  }
  if (found < expected) {
    return invalid(fmt::format(
        "the file is cut off: {} bytes of weights where {} are expected", found, expected));
  }
  if (found > expected) {
    return invalid(fmt::format("{} bytes of weights where {} are expected", found, expected));
  }
  return {};
}

Result<NetworkWeights> parse(std::string_view bytes) {
  if (bytes.size() > kWeightsBytesMax) {
    return invalid(fmt::format(
        "{} bytes are more than the {} MiB allowed", bytes.size(), kWeightsBytesMax >> 20U));
  }
  std::string_view rest = bytes;
  const std::optional<std::string_view> first = take_line(&rest, kNameBytesMax);
  if (!first.has_value() && std::string_view("septule-weights 1").starts_with(bytes)) {
    return invalid(
        fmt::format("the file is cut off in its first line, after {} bytes", bytes.size()));
  }
  SEPTULE_TRY_STATUS(check_first_line(first.value_or(bytes.substr(0, kNameBytesMax))));
  const std::optional<std::string_view> second = take_line(&rest, kHeaderBytesMax);
  if (!second.has_value()) {
    return invalid(
        rest.size() < kHeaderBytesMax
            ? fmt::format("the file is cut off in its second line, after {} bytes", bytes.size())
            : fmt::format("the second line is longer than {} bytes", kHeaderBytesMax));
  }
  SEPTULE_TRY(HeaderReader::Header header, read_header(*second));
  NetworkWeights& weights = header.weights;
  SEPTULE_TRY_STATUS(check_layers(weights.tensors));
  SEPTULE_TRY_STATUS(check_payload_size(header, rest.size()));
  const std::size_t digest_at = second->rfind(kDigestField);
  const std::size_t covered = digest_at == std::string_view::npos ? second->size() : digest_at;
  if (second->substr(covered) != digest_ending(second->substr(0, covered), rest)) {
    return invalid(
        "the digest at the end of the second line is not that of the file: it is damaged "
        "or was changed");
  }
  for (Tensor& tensor : weights.tensors) {
    const std::size_t size = shape_size(tensor.shape).value_or(0) * kFloatBytes;
    tensor.data = read_values(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  SEPTULE_TRY_STATUS(check_weights(weights));
  return std::move(header.weights);
}

}  // namespace

const Tensor* NetworkWeights::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

Status check_weights(const NetworkWeights& weights) {
  SEPTULE_TRY_STATUS(check_text("the kind", weights.kind));
  SEPTULE_TRY_STATUS(check_numbers("the settings", weights.settings));
  SEPTULE_TRY_STATUS(check_recipe(weights.recipe));
  SEPTULE_TRY_STATUS(check_layers(weights.tensors));
  for (const Tensor& tensor : weights.tensors) {
    if (shape_size(tensor.shape) != tensor.data.size()) {
      return invalid(fmt::format("tensor {} has {} values, but its shape is {}",
                                 quoted_for_message(tensor.name),
                                 tensor.data.size(),
                                 shape_text(tensor.shape)));
    }
    SEPTULE_TRY_STATUS(check_values(tensor));
  }
  return {};
}

std::string write_weights(const NetworkWeights& weights) {
  SEPTULE_CHECK(check_weights(weights).is_ok(), "weights are checked before they are written");
  std::string payload;
  std::size_t payload_bytes = 0;
  for (const Tensor& tensor : weights.tensors) {
    payload_bytes += tensor.data.size() * kFloatBytes;
  }
  payload.reserve(payload_bytes);
  for (const Tensor& tensor : weights.tensors) {
    append_values(&payload, tensor.data);
  }
  const std::string header = header_text(weights, payload.size());
  return fmt::format(
      "{} {}\n{}{}\n{}", kMagic, kWeightsVersion, header, digest_ending(header, payload), payload);
}

Result<NetworkWeights> parse_weights(std::string_view bytes, std::string_view source_name) {
  Result<NetworkWeights> weights = parse(bytes);
  if (!weights) {
    return invalid(fmt::format("{}: {}", source_name, weights.error().message));
  }
  return weights;
}

}  // namespace septule::learn
