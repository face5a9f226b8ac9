#include "interop/study_file.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/data_builder.hpp"

namespace septule::interop {

namespace {

bool is_flag(const OptionRecord& record) {
  return record.value.empty();
}

class StudyFileReader {
 public:
  StudyFileReader(const InputText& input, std::span<const OptionRecord> options)
      : reader_(input.source_name), options_(options) {}

  Result<std::vector<StudyFileEntry>> read(const DataNode& root) {
    if (root.kind != DataNode::Kind::kMap) {
      return reader_.error(
          root, "/", fmt::format("is {}; expected a map of options", described(root)));
    }
    for (const DataMember& member : root.members) {
      SEPTULE_TRY_STATUS(add(member));
    }
    return std::move(entries_);
  }

 private:
  static Result<std::string> scalar(const DataNode& node) {
    if (!node.is_scalar() || node.kind == DataNode::Kind::kNull) {
      return Error{ErrorCode::kInvalidInput, fmt::format("is {}", described(node))};
    }
    return node.text;
  }

  Result<std::string> value_text(const DataMember& member, const std::string& path) const {
    if (member.value.kind != DataNode::Kind::kList) {
      Result<std::string> text = scalar(member.value);
      if (!text) {
        DataNode at = member.value;
        at.line = member.line;  // nothing has no line of its own
        return reader_.error(
            at, path, text.error().message + "; expected a value or a list of values");
      }
      return text;
    }
    std::string joined;
    for (const DataNode& item : member.value.items) {
      const Result<std::string> text = scalar(item);
      if (!text || text->find(',') != std::string::npos) {
        return reader_.error(item, path, "holds an item that is no single value; expected values");
      }
      joined += (joined.empty() ? "" : ",") + *text;
    }
    if (joined.empty()) {
      return reader_.error(member.value, path, "is an empty list; expected at least one value");
    }
    return joined;
  }

  Status add(const DataMember& member) {
    const auto record = std::ranges::find(options_, member.name, &OptionRecord::name);
    const std::string path = "/" + member.name;
    if (record == options_.end()) {
      return unknown(member);
    }
    if (is_flag(*record)) {
      SEPTULE_TRY(const bool is_set, reader_.boolean(member.value, path));
      if (is_set) {
        entries_.push_back({member.name, "true", member.line});
      }
      return {};
    }
    SEPTULE_TRY(std::string text, value_text(member, path));
    if (const Status checked = check_option(*record, text); !checked) {
      const std::string_view message = checked.error().message;
      const std::string flag = fmt::format("--{}: ", record->name);
      return reader_.error(
          member.value, path, message.starts_with(flag) ? message.substr(flag.size()) : message);
    }
    entries_.push_back({member.name, std::move(text), member.line});
    return {};
  }

  Error unknown(const DataMember& member) const {
    std::vector<std::string> names;
    for (const OptionRecord& option : options_) {
      names.push_back(option.name);
    }
    const std::vector<std::string> near = nearest_names(member.name, names, 3);
    DataNode at;
    at.line = member.line;
    return reader_.error(at,
                         "/",
                         fmt::format("{} is no option of a study; {}{}",
                                     quoted_for_message(member.name),
                                     near.empty() ? "expected one of " : "near it: ",
                                     joined_with_and(near.empty() ? names : near)));
  }

  DataReader reader_;
  std::span<const OptionRecord> options_;
  std::vector<StudyFileEntry> entries_;
};

}  // namespace

Result<std::vector<StudyFileEntry>> parse_study_file(const InputText& input,
                                                     std::span<const OptionRecord> options) {
  SEPTULE_TRY(const DataNode root, read_yaml(input));
  return StudyFileReader(input, options).read(root);
}

}  // namespace septule::interop
