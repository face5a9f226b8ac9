#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/text.hpp"
#include "interop/data_builder.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

/// A plain (unquoted) scalar by YAML's core schema, decimal numbers only.
DataNode plain_scalar(const std::string& text, int line) {
  DataNode node;
  node.kind = DataNode::Kind::kString;
  node.line = line;
  node.text = text;
  if (const std::optional<std::int64_t> integer = parse_integer(text)) {
    node.kind = DataNode::Kind::kInteger;
    node.integer = *integer;
    node.number = static_cast<double>(*integer);
  } else if (text == "true" || text == "True" || text == "TRUE") {
    node.kind = DataNode::Kind::kBoolean;
    node.boolean = true;
  } else if (text == "false" || text == "False" || text == "FALSE") {
    node.kind = DataNode::Kind::kBoolean;
  } else if (const std::optional<double> number = parse_number(text)) {
    node.kind = DataNode::Kind::kNumber;
    node.number = *number;
  }
  return node;
}

/// yaml-cpp's event interface on top of DataBuilder. Events after a fault are ignored: the library
/// cannot be stopped without throwing, and the input is short.
class YamlEvents : public YAML::EventHandler {
 public:
  explicit YamlEvents(DataBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    DataNode node;
    node.line = mark.line + 1;
    add(std::move(node), anchor);
  }
  void OnScalar(const YAML::Mark& mark,
                const std::string& tag,
                YAML::anchor_t anchor,
                const std::string& value) override {
    if (!is_plain_tag(tag, mark)) {
      return;
    }
    DataNode node = plain_scalar(value, mark.line + 1);
    if (tag == "!") {
      node.kind = DataNode::Kind::kString;
    }
    add(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      builder_.fail(mark.line + 1, "", "an alias inside the value that it repeats");
    } else if (builder_.needs_key()) {
      builder_.fail(mark.line + 1, "", "an alias as the name of a field; expected a plain name");
    } else {
      builder_.add_copy(found->second, mark.line + 1);
    }
  }
  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(DataNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(DataNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  bool is_plain_tag(const std::string& tag, const YAML::Mark& mark) {
    if (tag.empty() || tag == "?" || tag == "!") {
      return true;
    }
    return builder_.fail(
        mark.line + 1,
        "",
        fmt::format("the YAML tag {}; tags are not accepted", quoted_for_message(tag)));
  }
  void add(DataNode node, YAML::anchor_t anchor) {
    if (builder_.fault()) {
      return;
    }
    if (builder_.needs_key()) {
      if (node.kind == DataNode::Kind::kNull) {
        builder_.fail(node.line, "", "a field without a name");
        return;
      }
      builder_.add_key(std::move(node.text), node.line);
      return;
    }
    if (builder_.add_scalar(std::move(node))) {
      remember(anchor);
    }
  }
  void open(DataNode::Kind kind,
            const YAML::Mark& mark,
            const std::string& tag,
            YAML::anchor_t anchor) {
    if (builder_.fault() || !is_plain_tag(tag, mark)) {
      return;
    }
    if (builder_.needs_key()) {
      builder_.fail(mark.line + 1, "", "a list or map as the name of a field; expected a name");
    } else if (builder_.open(kind, mark.line + 1)) {
      open_anchors_.push_back(anchor);
    }
  }
  void close() {
    if (builder_.close()) {
      remember(open_anchors_.back());
      open_anchors_.pop_back();
    }
  }
  void remember(YAML::anchor_t anchor) {
    constexpr std::size_t kAnchorsMax = 256;
    if (anchor == YAML::NullAnchor) {
      return;
    }
    if (anchored_.size() >= kAnchorsMax) {
      builder_.fail(builder_.last().line, "", fmt::format("more than {} anchors", kAnchorsMax));
      return;
    }
    if (builder_.charge(builder_.last())) {
      anchored_.insert_or_assign(anchor, builder_.last());
    }
  }

  DataBuilder& builder_;
  std::vector<YAML::anchor_t> open_anchors_;
  std::map<YAML::anchor_t, DataNode> anchored_;
};

}  // namespace

Result<DataNode> read_yaml(const InputText& input) {
  SEPTULE_TRY(const std::string_view text, checked_text(input, kYamlBytesMax));
  DataBuilder builder(input.source_name);
  YamlEvents events(builder);
  bool has_document = false;
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    has_document = parser.HandleNextDocument(events);
    DataBuilder ignored(input.source_name);
    YamlEvents more(ignored);
    if (has_document && !builder.fault() && parser.HandleNextDocument(more)) {
      builder.fail(0, "", "more than one YAML document (\"---\"); expected one");
    }
  } catch (const YAML::Exception& problem) {
    builder.fail(
        problem.mark.line + 1, "", fmt::format("not valid YAML: {}", one_line(problem.msg)));
  } catch (const std::exception& problem) {
    builder.fail(0, "", fmt::format("not valid YAML: {}", one_line(problem.what())));
  }
  if (const std::optional<Error>& fault = builder.fault()) {
    return *fault;
  }
  if (!has_document || builder.is_open()) {
    return input_error(input.source_name, 0, "", "no YAML value; is the file empty or cut off?");
  }
  return builder.take_root();
}

}  // namespace septule::interop
