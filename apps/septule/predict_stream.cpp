#include "septule/predict_stream.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.hpp"
#include "interop/mps_measurements.hpp"
#include "interop/slice_lines.hpp"
#include "septule/inputs.hpp"

namespace septule::app {

namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 16U;

/// What the first line says of a text that is no stream of lines, as the end of a message; empty
/// where it may be one.
std::string_view file_hint(std::string_view line) {
  const bool is_json = line.starts_with('{') || line.starts_with('[');
  if (line.find("\"schema\"") != std::string_view::npos) {
    return " (this looks like MPS measurements in JSON: give them as FILE, without --jsonl)";
  }
  if (is_json && !line.ends_with('}')) {
    return " (this looks like JSON over several lines: --jsonl takes a whole object on each line; "
           "MPS measurements are given as FILE, without --jsonl)";
  }
  if (!is_json && line.find(',') != std::string_view::npos) {
    return " (this looks like CSV: give it as FILE, without --jsonl)";
  }
  return "";
}

/// Answers lines one after the other and keeps count of the bad ones.
class Answerer {
 public:
  Answerer(std::string source_name, const LoadedModel& model)
      : source_name_(std::move(source_name)), model_(model) {}

  std::string answer(std::string_view line) {
    ++lines_;
    if (trimmed(line).empty()) {
      return refused(fmt::format(
          "{}:{}: an empty line; expected {{\"mps_levels\":[...],\"step_time\":[[...],...]}}",
          source_name_,
          lines_));
    }
    const auto matrix = interop::parse_mps_line(
        {.text = line, .source_name = source_name_, .line = static_cast<int>(lines_)});
    if (!matrix) {
      if (lines_ == 1) {
        hint_ = file_hint(trimmed(line));
      }
      return refused(matrix.error().message);
    }
    const auto predictions = model_.predict(*matrix);
    if (!predictions) {
      return refused(fmt::format("{}:{}: {}", source_name_, lines_, predictions.error().message));
    }
    return interop::write_slice_line(*predictions) + "\n";
  }

  std::string answer_too_long() {
    ++lines_;
    return refused(fmt::format("{}:{}: the line has more than {} bytes; that is the limit",
                               source_name_,
                               lines_,
                               interop::kInputBytesMax));
  }

  Status judgement() const {
    if (bad_ == 0) {
      return {};
    }
    return Error{ErrorCode::kInvalidInput,
                 fmt::format("{} of {} lines could not be predicted; the first: {}{}",
                             bad_,
                             lines_,
                             first_fault_,
                             hint_)};
  }

 private:
  std::string refused(const std::string& message) {
    if (bad_++ == 0) {
      first_fault_ = message;
    }
    return interop::write_error_line(message) + "\n";
  }

  std::string source_name_;
  const LoadedModel& model_;
  std::int64_t lines_ = 0;
  std::int64_t bad_ = 0;
  std::string first_fault_;
  std::string hint_;
};

/// Cuts what is read into lines.
class LineCutter {
 public:
  explicit LineCutter(Answerer& answerer) : answerer_(answerer) {}

  /// Answers to the lines that end in `bytes`.
  std::string take(std::string_view bytes) {
    std::string answers;
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      append(bytes.substr(0, end));
      if (end == std::string_view::npos) {
        break;
      }
      answers += end_line();
      bytes.remove_prefix(end + 1);
    }
    return answers;
  }

  /// The answer to a last line without an end.
  std::string finish() { return line_.empty() && !is_too_long_ ? "" : end_line(); }

 private:
  void append(std::string_view piece) {
    if (line_.size() + piece.size() > interop::kInputBytesMax) {
      is_too_long_ = true;
      line_.clear();
    }
    if (!is_too_long_) {
      line_ += piece;
    }
  }
  std::string end_line() {
    std::string answer = is_too_long_ ? answerer_.answer_too_long() : answerer_.answer(line_);
    line_.clear();
    is_too_long_ = false;
    return answer;
  }

  Answerer& answerer_;
  std::string line_;
  bool is_too_long_ = false;
};

/// A file or standard input, opened for reading.
class Input {
 public:
  explicit Input(const std::string& path)
      : descriptor_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    if (descriptor_ > STDIN_FILENO) {
      close(descriptor_);
    }
  }
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

Error read_error(const std::string& path) {
  const int number = errno;
  const std::string reason = std::error_code(number, std::generic_category()).message();
  return Error{number == ENOENT || number == ENOTDIR ? ErrorCode::kNotFound
               : number == EISDIR                    ? ErrorCode::kInvalidInput
                                                     : ErrorCode::kFailed,
               fmt::format("{}: cannot be read: {}",
                           path == "-" ? "standard input" : quoted_for_message(path),
                           reason)};
}

}  // namespace

Status predict_stream(const std::string& path, const LoadedModel& model, Output& output) {
  const Input input(path);
  if (input.descriptor() < 0) {
    return read_error(path);
  }
  Answerer answerer(source_name_of(path), model);
  LineCutter cutter(answerer);
  std::array<char, kReadBytes> buffer{};
  while (true) {
    const ssize_t count = read(input.descriptor(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      return read_error(path);
    }
    const std::string answers = count == 0
                                    ? cutter.finish()
                                    : cutter.take({buffer.data(), static_cast<std::size_t>(count)});
    if (!answers.empty()) {
      SEPTULE_TRY_STATUS(output.print(answers));
    }
    if (count == 0) {
      return answerer.judgement();
    }
  }
}

}  // namespace septule::app
