#include "interop/data_node.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

const DataNode* DataNode::find(std::string_view name) const {
  const auto found = std::ranges::find(members, name, &DataMember::name);
  return found == members.end() ? nullptr : &found->value;
}

std::string described(const DataNode& node) {
  switch (node.kind) {
    case DataNode::Kind::kNull:
      return "nothing (null)";
    case DataNode::Kind::kBoolean:
      return node.boolean ? "true" : "false";
    case DataNode::Kind::kInteger:
    case DataNode::Kind::kNumber:
      return fmt::format("the number {}", one_line(node.text));
    case DataNode::Kind::kString:
      return fmt::format("the text {}", quoted_for_message(node.text));
    case DataNode::Kind::kList:
      return fmt::format("a list of {}", node.items.size());
    case DataNode::Kind::kMap:
      return "a map of fields";
  }
  return "nothing";
}

Error DataReader::error(const DataNode& node, std::string_view path, std::string_view what) const {
  return input_error(source_name_, node.line, path, what);
}

Status DataReader::expect_map(const DataNode& node,
                              std::string_view path,
                              std::initializer_list<std::string_view> known) const {
  return expect_map(node, path, std::span(known.begin(), known.size()));
}

Status DataReader::expect_map(const DataNode& node,
                              std::string_view path,
                              std::span<const std::string_view> known) const {
  if (node.kind != DataNode::Kind::kMap) {
    return error(node, path, fmt::format("is {}; expected a map of fields", described(node)));
  }
  for (const DataMember& member : node.members) {
    if (std::ranges::find(known, member.name) == known.end()) {
      const std::vector<std::string> names(known.begin(), known.end());
      return input_error(
          source_name_, member.line, path, unknown_name_text("field", member.name, names));
    }
  }
  return {};
}

Status DataReader::expect_list(const DataNode& node,
                               std::string_view path,
                               std::size_t items_max) const {
  if (node.kind != DataNode::Kind::kList) {
    return error(node, path, fmt::format("is {}; expected a list", described(node)));
  }
  if (node.items.size() > items_max) {
    return error(
        node,
        path,
        fmt::format("has {} items; at most {} are accepted", node.items.size(), items_max));
  }
  return {};
}

Result<const DataNode*> DataReader::required(const DataNode& map,
                                             std::string_view path,
                                             std::string_view name) const {
  const DataNode* found = map.find(name);
  if (found == nullptr) {
    return error(map, path, fmt::format("the field \"{}\" is missing", name));
  }
  return found;
}

Result<int> DataReader::integer(const DataNode& node,
                                std::string_view path,
                                int min,
                                int max) const {
  if (node.kind != DataNode::Kind::kInteger || node.integer < min || node.integer > max) {
    return error(
        node,
        path,
        fmt::format("is {}; expected a whole number from {} to {}", described(node), min, max));
  }
  return static_cast<int>(node.integer);
}

Result<bool> DataReader::boolean(const DataNode& node, std::string_view path) const {
  if (node.kind != DataNode::Kind::kBoolean) {
    return error(node, path, fmt::format("is {}; expected true or false", described(node)));
  }
  return node.boolean;
}

Result<std::string> DataReader::name(const DataNode& node, std::string_view path) const {
  if (node.kind != DataNode::Kind::kString) {
    return error(node, path, fmt::format("is {}; expected a text", described(node)));
  }
  if (const std::string fault = name_fault(node.text); !fault.empty()) {
    return error(node, path, fault);
  }
  return node.text;
}

}  // namespace septule::interop
