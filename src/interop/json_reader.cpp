#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"
#include "interop/json_position.hpp"

namespace septule::interop {

namespace {

using Json = nlohmann::json;

/// nlohmann's event interface on top of DataBuilder.
class JsonEvents {
 public:
  JsonEvents(DataBuilder& builder, const ReadPosition& position)
      : builder_(builder), position_(position) {}

  bool null() { return scalar(DataNode::Kind::kNull, "null"); }
  bool boolean(bool value) {
    DataNode node = made(DataNode::Kind::kBoolean, value ? "true" : "false");
    node.boolean = value;
    return builder_.add_scalar(std::move(node));
  }
  bool number_integer(Json::number_integer_t value) {
    DataNode node = made(DataNode::Kind::kInteger, fmt::format("{}", value));
    node.integer = value;
    node.number = static_cast<double>(value);
    return builder_.add_scalar(std::move(node));
  }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (std::in_range<std::int64_t>(value)) {
      return number_integer(static_cast<std::int64_t>(value));
    }
    return number_float(static_cast<double>(value), fmt::format("{}", value));
  }
  bool number_float(Json::number_float_t value, const std::string& text) {
    DataNode node = made(DataNode::Kind::kNumber, text);
    node.number = value;
    return builder_.add_scalar(std::move(node));
  }
  bool string(std::string& value) { return scalar(DataNode::Kind::kString, std::move(value)); }
  bool binary(Json::binary_t& /*value*/) { return false; }
  bool start_object(std::size_t /*count*/) {
    return builder_.open(DataNode::Kind::kMap, position_.line);
  }
  bool key(std::string& name) { return builder_.add_key(std::move(name), position_.line); }
  bool end_object() { return builder_.close(); }
  bool start_array(std::size_t /*count*/) {
    return builder_.open(DataNode::Kind::kList, position_.line);
  }
  bool end_array() { return builder_.close(); }
  bool parse_error(std::size_t /*at*/,
                   const std::string& /*last_token*/,
                   const Json::exception& problem) {
    const std::string_view what = problem.what();
    if (what.find("unexpected end of input") != std::string_view::npos ||
        what.find("missing closing quote") != std::string_view::npos) {
      return builder_.fail(
          position_.line, "", "the JSON text ends in the middle; is the file cut off?");
    }
    // The library's text is "[code] parse error at line L, column C: syntax error ..."; line and
    // field are ours, so only the reason is kept.
    std::size_t from = what.find("syntax error");
    if (from == std::string_view::npos) {
      const std::size_t code_end = what.find("] ");
      from = code_end == std::string_view::npos ? 0 : code_end + 2;
    }
    return builder_.fail(
        position_.line, "", fmt::format("not valid JSON: {}", one_line(what.substr(from), 300)));
  }

 private:
  DataNode made(DataNode::Kind kind, std::string text) const {
    DataNode node;
    node.kind = kind;
    node.line = position_.line;
    node.text = std::move(text);
    return node;
  }
  bool scalar(DataNode::Kind kind, std::string text) {
    return builder_.add_scalar(made(kind, std::move(text)));
  }

  DataBuilder& builder_;
  const ReadPosition& position_;
};

}  // namespace

Result<DataNode> read_json(const InputText& input) {
  SEPTULE_TRY(const std::string_view text, checked_text(input));
  DataBuilder builder(input.source_name);
  ReadPosition position{.newlines = input.line - 1, .line = input.line};
  JsonEvents events(builder, position);
  bool is_whole = false;
  try {
    // Pointers, because the iterator counts bytes; both ends come from the same view.
    const char* const first = text.data();  // NOLINT(bugprone-suspicious-stringview-data-usage)
    is_whole = Json::sax_parse(CountingIterator(first, &position),
                               CountingIterator(first + text.size(), &position),
                               &events);
  } catch (const std::exception& problem) {
    builder.fail(position.line, "", fmt::format("not valid JSON: {}", one_line(problem.what())));
  }
  if (const std::optional<Error>& fault = builder.fault()) {
    return *fault;
  }
  if (!is_whole) {
    return input_error(input.source_name, position.line, "", "not valid JSON");
  }
  return builder.take_root();
}

}  // namespace septule::interop
