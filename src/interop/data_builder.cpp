#include "interop/data_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/input_text.hpp"

namespace septule::interop {

namespace {

// Depth is bounded by kNestingMax, so plain recursion is safe.
void measure(const DataNode& node, std::size_t& nodes, std::size_t& bytes) {
  ++nodes;
  bytes += node.text.size();
  for (const DataNode& item : node.items) {
    measure(item, nodes, bytes);
  }
  for (const DataMember& member : node.members) {
    bytes += member.name.size();
    measure(member.value, nodes, bytes);
  }
}

int depth_of(const DataNode& node) {
  int deepest = 0;
  for (const DataNode& item : node.items) {
    deepest = std::max(deepest, depth_of(item));
  }
  for (const DataMember& member : node.members) {
    deepest = std::max(deepest, depth_of(member.value));
  }
  return node.is_scalar() ? 0 : deepest + 1;
}

}  // namespace

std::string DataBuilder::path() const {
  std::string text;
  for (const DataNode* node : stack_) {
    if (node->kind == DataNode::Kind::kList) {
      text += fmt::format("/{}", node->items.empty() ? 0 : node->items.size() - 1);
    } else if (!node->members.empty()) {
      text += fmt::format("/{}", one_line(node->members.back().name, 60));
    }
  }
  return text;
}

bool DataBuilder::fail(int line, std::string_view field, std::string_view what) {
  if (!fault_) {
    fault_ = input_error(source_name_, line, field, what);
  }
  return false;
}

bool DataBuilder::needs_key() const {
  return !stack_.empty() && stack_.back()->kind == DataNode::Kind::kMap && !key_;
}

bool DataBuilder::count(const DataNode& node) {
  measure(node, nodes_, scalar_bytes_);
  if (nodes_ > kNodesMax) {
    return fail(node.line,
                path(),
                fmt::format("more than {} values, aliases repeated; that is the limit", kNodesMax));
  }
  if (scalar_bytes_ > kScalarBytesMax) {
    return fail(node.line,
                path(),
                fmt::format("more than {} bytes of texts, aliases repeated; that is the limit",
                            kScalarBytesMax));
  }
  return true;
}

DataNode* DataBuilder::add(DataNode node) {
  if (fault_ || !count(node)) {
    return nullptr;
  }
  if (stack_.empty()) {
    if (has_root_) {
      fail(node.line, "", "a second value after the end of the first; expected one value");
      return nullptr;
    }
    has_root_ = true;
    root_ = std::move(node);
    last_ = &root_;
    return &root_;
  }
  DataNode& parent = *stack_.back();
  if (parent.kind == DataNode::Kind::kList) {
    parent.items.push_back(std::move(node));
    last_ = &parent.items.back();
    return &parent.items.back();
  }
  SEPTULE_CHECK(key_.has_value(), "a map value has a name");
  parent.members.push_back({std::move(*key_), key_line_, std::move(node)});
  key_.reset();
  last_ = &parent.members.back().value;
  return &parent.members.back().value;
}

bool DataBuilder::add_scalar(DataNode node) {
  return add(std::move(node)) != nullptr;
}

bool DataBuilder::add_key(std::string name, int line) {
  if (fault_) {
    return false;
  }
  const std::vector<DataMember>& members = stack_.back()->members;
  if (std::ranges::find(members, name, &DataMember::name) != members.end()) {
    return fail(line,
                "",
                fmt::format("the field {} appears twice in one map; expected once",
                            quoted_for_message(name)));
  }
  if (members.size() >= kFieldsMax) {
    return fail(line, "", fmt::format("more than {} fields in one map", kFieldsMax));
  }
  key_ = std::move(name);
  key_line_ = line;
  return true;
}

bool DataBuilder::open(DataNode::Kind kind, int line) {
  if (fault_) {
    return false;
  }
  if (stack_.size() >= static_cast<std::size_t>(kNestingMax)) {
    return fail(line, "", fmt::format("lists and maps are nested deeper than {}", kNestingMax));
  }
  DataNode node;
  node.kind = kind;
  node.line = line;
  DataNode* added = add(std::move(node));
  if (added == nullptr) {
    return false;
  }
  stack_.push_back(added);
  return true;
}

bool DataBuilder::close() {
  if (fault_) {
    return false;
  }
  last_ = stack_.back();
  stack_.pop_back();
  return true;
}

bool DataBuilder::add_copy(const DataNode& node, int line) {
  if (fault_) {
    return false;
  }
  if (stack_.size() + static_cast<std::size_t>(depth_of(node)) >
      static_cast<std::size_t>(kNestingMax)) {
    return fail(line, "", fmt::format("lists and maps are nested deeper than {}", kNestingMax));
  }
  return add(node) != nullptr;
}

}  // namespace septule::interop
