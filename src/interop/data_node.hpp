#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "interop/limits.hpp"

namespace septule::interop {

struct DataMember;

/// A value of a JSON or YAML text with the line it stands on. Maps keep the order of the text and
/// hold each name once. Built within the limits of limits.hpp; a plain value.
struct DataNode {
  enum class Kind { kNull, kBoolean, kInteger, kNumber, kString, kList, kMap };

  Kind kind = Kind::kNull;
  int line = 0;
  std::string text;          ///< of scalars, as written
  std::int64_t integer = 0;  ///< of kInteger
  double number = 0;         ///< of kInteger and kNumber
  bool boolean = false;      ///< of kBoolean
  std::vector<DataNode> items;
  std::vector<DataMember> members;

  /// The member of this name, or null.
  const DataNode* find(std::string_view name) const;
  bool is_scalar() const { return kind != Kind::kList && kind != Kind::kMap; }
};

struct DataMember {
  std::string name;
  int line = 0;
  DataNode value;
};

/// "a list", "the text \"abc\"": what a node is, for messages.
std::string described(const DataNode& node);

/// Reads typed values out of nodes; messages name source, line and `path` ("/gpus/0/model").
/// Borrows the source name. A value; no thread rule.
class DataReader {
 public:
  explicit DataReader(std::string_view source_name) : source_name_(source_name) {}

  Error error(const DataNode& node, std::string_view path, std::string_view what) const;
  /// A map whose fields are all among `known`.
  Status expect_map(const DataNode& node,
                    std::string_view path,
                    std::initializer_list<std::string_view> known) const;
  Status expect_map(const DataNode& node,
                    std::string_view path,
                    std::span<const std::string_view> known) const;
  Status expect_list(const DataNode& node, std::string_view path, std::size_t items_max) const;
  /// A required field of a map.
  Result<const DataNode*> required(const DataNode& map,
                                   std::string_view path,
                                   std::string_view name) const;
  Result<int> integer(const DataNode& node, std::string_view path, int min, int max) const;
  Result<bool> boolean(const DataNode& node, std::string_view path) const;
  /// A text of at most kNameBytesMax bytes without control characters.
  Result<std::string> name(const DataNode& node, std::string_view path) const;

 private:
  std::string_view source_name_;
};

}  // namespace septule::interop
