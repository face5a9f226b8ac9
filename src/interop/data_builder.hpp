#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/data_node.hpp"

namespace septule::interop {

/// Puts a DataNode tree together from a parser's events, within the limits of limits.hpp. After
/// the first fault every further event is ignored and `fault()` tells what was wrong. One owner.
class DataBuilder {
 public:
  explicit DataBuilder(std::string_view source_name) : source_name_(source_name) {}

  /// Each returns false once there is a fault.
  bool add_scalar(DataNode node);
  bool add_key(std::string name, int line);
  bool open(DataNode::Kind kind, int line);
  bool close();
  /// A copy of an earlier value (a YAML alias).
  bool add_copy(const DataNode& node, int line);
  /// Counts a copy that the caller keeps (an anchored value) against the same limits.
  bool charge(const DataNode& node) { return !fault_ && count(node); }
  bool fail(int line, std::string_view field, std::string_view what);

  /// Whether the next value of the open map has no name yet.
  bool needs_key() const;
  bool is_open() const { return !stack_.empty(); }
  /// The value finished last; valid until the next event.
  const DataNode& last() const { return *last_; }
  const std::optional<Error>& fault() const { return fault_; }
  DataNode take_root() { return std::move(root_); }

 private:
  DataNode* add(DataNode node);
  bool count(const DataNode& node);
  std::string path() const;

  std::string_view source_name_;
  DataNode root_;
  bool has_root_ = false;
  // Pointers stay valid: a container only grows while none of its children is open.
  std::vector<DataNode*> stack_;
  std::optional<std::string> key_;
  int key_line_ = 0;
  const DataNode* last_ = &root_;
  std::size_t nodes_ = 0;
  std::size_t scalar_bytes_ = 0;
  std::optional<Error> fault_;
};

/// A JSON text as a tree. Duplicate keys are refused. Fails with kInvalidInput.
Result<DataNode> read_json(const InputText& input);
/// A YAML text of one document as a tree: duplicate keys, tags, complex keys and unknown or
/// recursive aliases are refused; aliases are copied. Plain scalars become numbers and booleans by
/// YAML's core schema (decimal only); quoted ones stay texts. Fails with kInvalidInput.
Result<DataNode> read_yaml(const InputText& input);

}  // namespace septule::interop
