#pragma once

#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace septule::test {

/// An element of a parsed text, in the order of their opening tags.
struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::vector<std::string> parents;  ///< names, outermost first
  std::string text;                  ///< directly inside, entities as written

  std::string attribute(const std::string& key) const {
    const auto found = attributes.find(key);
    return found == attributes.end() ? std::string() : found->second;
  }
  bool is_inside(std::string_view parent) const {
    for (const std::string& name_above : parents) {
      if (name_above == parent) {
        return true;
      }
    }
    return false;
  }
};

/// A reader of the part of XML that our pages use: elements, quoted attributes, five entities.
/// Everything else is a fault. For tests only.
class XmlReader {
 public:
  explicit XmlReader(std::string_view text) : text_(text) { read(); }

  /// Empty if the text is well formed.
  const std::string& fault() const { return fault_; }
  const std::vector<XmlElement>& elements() const { return elements_; }

 private:
  void fail(const std::string& what) {
    if (fault_.empty()) {
      fault_ = fmt::format("byte {}: {}", at_, what);
    }
    at_ = text_.size();
  }

  void read() {
    if (!is_valid_utf8(text_)) {
      return fail("invalid UTF-8");
    }
    skip("<!DOCTYPE html>\n");
    while (at_ < text_.size()) {
      if (text_[at_] == '<') {
        read_tag();
      } else {
        read_text();
      }
    }
    if (fault_.empty() && !open_.empty()) {
      fault_ = "not closed: " + elements_[open_.back()].name;
    }
    if (fault_.empty() && elements_.empty()) {
      fault_ = "no element";
    }
  }

  bool skip(std::string_view expected) {
    const bool is_there = text_.substr(at_, expected.size()) == expected;
    at_ += is_there ? expected.size() : 0;
    return is_there;
  }

  std::string name() {
    const std::size_t from = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')) {
      ++at_;
    }
    return std::string(text_.substr(from, at_ - from));
  }

  /// Checks characters and entities of a text or an attribute's value.
  void check_characters(std::string_view piece) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
      const auto byte = static_cast<unsigned char>(piece[i]);
      if ((byte < 0x20U && byte != '\n' && byte != '\t') || byte == 0x7FU) {
        return fail("a control character");
      }
      const std::string_view rest = piece.substr(i);
      const bool is_entity = rest.starts_with("&amp;") || rest.starts_with("&lt;") ||
                             rest.starts_with("&gt;") || rest.starts_with("&quot;") ||
                             rest.starts_with("&#39;");
      if (piece[i] == '<' || (piece[i] == '&' && !is_entity)) {
        return fail("a bare < or &");
      }
    }
  }

  void read_text() {
    const std::size_t end = std::min(text_.find('<', at_), text_.size());
    const std::string_view piece = text_.substr(at_, end - at_);
    check_characters(piece);
    if (!fault_.empty()) {
      return;
    }
    if (open_.empty() && !trimmed(piece).empty()) {
      return fail("text outside of elements");
    }
    if (!open_.empty()) {
      elements_[open_.back()].text += piece;
    }
    at_ = end;
  }

  void read_tag() {
    if (skip("</")) {
      const std::string closed = name();
      if (open_.empty() || elements_[open_.back()].name != closed || !skip(">")) {
        return fail("closed without being open: " + closed);
      }
      open_.pop_back();
      return;
    }
    ++at_;
    XmlElement element;
    element.name = name();
    for (const std::size_t parent : open_) {
      element.parents.push_back(elements_[parent].name);
    }
    if (element.name.empty() || (open_.empty() && !elements_.empty())) {
      return fail("no name, or a second outermost element");
    }
    while (skip(" ")) {
      const std::string key = name();
      const std::size_t from = at_ + 2;
      const std::size_t end = text_.find('"', from);
      if (key.empty() || !skip("=\"") || end == std::string_view::npos ||
          element.attributes.contains(key)) {
        return fail("a bad attribute of " + element.name);
      }
      check_characters(text_.substr(from, end - from));
      element.attributes[key] = std::string(text_.substr(from, end - from));
      at_ = end + 1;
    }
    const bool is_whole = skip("/>");
    if (!is_whole && !skip(">")) {
      return fail("a tag without end: " + element.name);
    }
    elements_.push_back(std::move(element));
    if (!is_whole) {
      open_.push_back(elements_.size() - 1);
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string fault_;
  std::vector<XmlElement> elements_;
  std::vector<std::size_t> open_;
};

/// The numbers of "0 0 860 320" or of a path; letters are passed over.
inline std::vector<double> numbers_in(const std::string& text) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of("-.0123456789", at), text.size());
    if (const auto number = parse_number(text.substr(at, end - at)); number.has_value()) {
      numbers.push_back(*number);
    }
    at = std::max(end, at + 1);
  }
  return numbers;
}

/// Follows a path of M, L, H, V, m, h, v and z; gives each corner {x, y} in turn.
inline std::vector<std::vector<double>> corners_of(const std::string& path) {
  std::vector<std::vector<double>> corners;
  double x = 0;
  double y = 0;
  for (std::size_t at = 0; at < path.size();) {
    const char command = path[at];
    const std::size_t end = std::min(path.find_first_of("MLHVmhvz", at + 1), path.size());
    const std::vector<double> numbers = numbers_in(path.substr(at + 1, end - at - 1));
    const bool is_pair = command == 'M' || command == 'L' || command == 'm';
    if (command != 'z' && numbers.size() != (is_pair ? 2U : 1U)) {
      corners.push_back({-1e9, -1e9});  // out of every drawing: a fault
      return corners;
    }
    if (command == 'M' || command == 'L') {
      x = numbers[0], y = numbers[1];
    } else if (command == 'm') {
      x += numbers[0], y += numbers[1];
    } else if (command == 'H' || command == 'h') {
      x = command == 'H' ? numbers[0] : x + numbers[0];
    } else if (command == 'V' || command == 'v') {
      y = command == 'V' ? numbers[0] : y + numbers[0];
    }
    corners.push_back({x, y});
    at = end;
  }
  return corners;
}

inline double number_of(const XmlElement& element, const std::string& key) {
  return parse_number(element.attribute(key)).value_or(0);
}

/// What lies outside the view box of its drawing, one line each; also a text that is not well
/// formed. Empty = nothing. `text` = a page or a drawing.
inline std::string drawing_faults(std::string_view text) {
  const XmlReader reader(text);
  std::string faults = reader.fault();
  std::vector<double> box = {0, 0, 0, 0};
  for (const XmlElement& element : reader.elements()) {
    if (element.name == "svg") {
      box = numbers_in(element.attribute("viewBox"));
    }
    if (!element.is_inside("svg") || element.is_inside("defs")) {
      continue;
    }
    std::vector<std::vector<double>> corners;
    if (element.name == "path") {
      corners = corners_of(element.attribute("d"));
    } else if (element.name == "rect") {
      const double x = number_of(element, "x");
      const double y = number_of(element, "y");
      corners = {{x, y}, {x + number_of(element, "width"), y + number_of(element, "height")}};
      if (number_of(element, "width") < 0 || number_of(element, "height") < 0) {
        faults += "a rectangle of negative size\n";
      }
    } else if (element.name == "circle") {
      corners = {{number_of(element, "cx"), number_of(element, "cy")}};
    } else if (element.name == "text") {
      corners = {{number_of(element, "x"), number_of(element, "y")}};
    }
    for (const std::vector<double>& corner : corners) {
      if (corner[0] < -0.2 || corner[1] < -0.2 || corner[0] > box[2] + 0.2 ||
          corner[1] > box[3] + 0.2) {
        faults += fmt::format("{} at {} {}\n", element.name, corner[0], corner[1]);
      }
    }
  }
  return faults;
}

/// How many elements have this class among theirs.
inline int count_class(std::string_view text, std::string_view name) {
  const XmlReader reader(text);
  int count = 0;
  for (const XmlElement& element : reader.elements()) {
    const std::string classes = " " + element.attribute("class") + " ";
    count += classes.find(fmt::format(" {} ", name)) != std::string::npos ? 1 : 0;
  }
  return count;
}

}  // namespace septule::test
