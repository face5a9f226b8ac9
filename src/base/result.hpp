#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.hpp"

namespace septule {

/// What went wrong, in the terms a caller can act on. Each code has one exit code of the command
/// line (docs/exit-codes.md); a code exists only because some caller acts on exactly it.
enum class ErrorCode {
  kFailed,        ///< A general failure (for example: standard output cannot be written).
  kUsage,         ///< The command line itself is wrong.
  kInvalidInput,  ///< A file, a text or a layout is not valid.
  kNotFound,      ///< A GPU model, a file or a named configuration does not exist.
  kBlocked,       ///< It cannot be placed, or a busy or foreign instance is in the way.
  kRefused,       ///< A policy forbids it.
  kTimedOut,      ///< A time or work limit ran out first.
  kPartlyDone,    ///< Some of it was done.
};

/// An expected failure. `message` is one sentence for a person: what, which object (file, line,
/// field), which value, and what would be valid. Values; no thread rule.
struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kFailed;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

/// Either a `T` or an `Error`. Reading the side that is not there is a programmer error and stops
/// the program (SEPTULE_CHECK).
template <class T>
class [[nodiscard]] Result {
 public:
  // Implicit, so that a function can return either side as it is.
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  // NOLINTNEXTLINE(google-explicit-constructor)
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const { return content_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  const T& value() const& {
    SEPTULE_CHECK(has_value(), "a Result holding an error was read as a value");
    return std::get<0>(content_);
  }
  T& value() & {
    SEPTULE_CHECK(has_value(), "a Result holding an error was read as a value");
    return std::get<0>(content_);
  }
  T&& value() && {
    SEPTULE_CHECK(has_value(), "a Result holding an error was read as a value");
    return std::get<0>(std::move(content_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    SEPTULE_CHECK(!has_value(), "a Result holding a value was read as an error");
    return std::get<1>(content_);
  }

 private:
  std::variant<T, Error> content_;
};

/// Success without a value, or an `Error`.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool is_ok() const { return !error_.has_value(); }
  explicit operator bool() const { return is_ok(); }
  const Error& error() const {
    SEPTULE_CHECK(error_.has_value(), "a successful Status was read as an error");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace septule

#define SEPTULE_CONCAT_INNER(a, b) a##b
#define SEPTULE_CONCAT(a, b) SEPTULE_CONCAT_INNER(a, b)

/// SEPTULE_TRY(auto x, expression): declares `x` with the value of a Result, or returns its error
/// from the enclosing function.
#define SEPTULE_TRY(declaration, expression) \
  SEPTULE_TRY_INNER(declaration, expression, SEPTULE_CONCAT(septule_try_, __LINE__))
#define SEPTULE_TRY_INNER(declaration, expression, temporary) \
  auto temporary = (expression);                              \
  if (!temporary) {                                           \
    return temporary.error();                                 \
  }                                                           \
  declaration = std::move(temporary).value()

/// SEPTULE_TRY_STATUS(expression): returns the error of a Status (or Result) if it holds one.
#define SEPTULE_TRY_STATUS(expression)                       \
  if (auto septule_status = (expression); !septule_status) { \
    return septule_status.error();                           \
  }                                                          \
  static_assert(true, "a semicolon follows")
