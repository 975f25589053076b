#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace shardkit {

/// Kind of an Error. lib/cli maps each to an exit code, in one place.
enum class ErrorCode {
  usage,          ///< the command line is invalid (exit 2)
  not_found,      ///< a given file, folder or object does not exist (exit 4)
  denied,         ///< no permission, or a read-only target (exit 4)
  io,             ///< a read or write failed; a retry may help (exit 1)
  network,        ///< a connection failed; a retry may help (exit 1)
  in_use,         ///< leased, or being changed by another process; a retry may help (exit 1)
  corrupt,        ///< invalid content (exit 4)
  conflict,       ///< the target or source does not match the plan (exit 4)
  no_space,       ///< disk full, quota, not enough memory, or a limit below the need (exit 5)
  unsupported,    ///< an engine or feature is not available (exit 4)
  cancelled,      ///< the stop token was set (exit 130 or 143)
  out_of_memory,  ///< an allocation failed (exit 5)
  internal,       ///< a bug in the program (exit 1)
};

/// The stable name of a code in JSON: "not_found", "no_space", ...
std::string_view error_code_name(ErrorCode code);

/// True for permanent faults of a single file, which a run may leave out if its user allows it. False for faults that
/// may pass or affect more (a failing disk, too many open files, a changed source): continuing would lose data.
bool is_bad_file(ErrorCode code);

/// Where an Error is.
struct At {
  std::string path;                          ///< file, folder or URL
  std::optional<std::uint64_t> offset = {};  ///< byte within it, if known
};

/// What is wrong with a file, in words without its name. A message about several files contains them once.
struct Fault {
  std::string text;          ///< the same for all files with this fault
  std::string details = {};  ///< of one file, after the text
};

/// Thrown if a command cannot continue. The text contains what was expected and what to do; `path` and `offset` contain
/// where. Caught once, in run_app.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& text, std::string path = {}, std::optional<std::uint64_t> offset = {});
  /// The same with a text like that of fmt::format().
  template <class... Args>
  Error(ErrorCode code, At at, fmt::format_string<Args...> text, Args&&... args)
      : Error(code, fmt::vformat(text, fmt::make_format_args(args...)), std::move(at.path), at.offset) {}
  /// The same with the name of a file and its fault as text, or with a text that has the name within the fault.
  Error(ErrorCode code, At at, Fault fault, const std::string& text = {});

  ErrorCode code() const { return code_; }
  /// The file, folder or URL; empty if there is none.
  const std::string& path() const { return path_; }
  /// Byte offset within path(), if known.
  std::optional<std::uint64_t> offset() const { return offset_; }
  /// That of path(); without a text if other files never have it.
  const Fault& fault() const { return fault_; }

 private:
  ErrorCode code_;
  std::string path_;
  std::optional<std::uint64_t> offset_;
  Fault fault_;
};

/// An Error{usage}, with a text like that of fmt::format().
template <class... Args>
Error usage_error(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorCode::usage, fmt::vformat(text, fmt::make_format_args(args...))};
}
/// Throws Error{usage} unless `fine`.
inline void check_usage(bool fine, const std::string& text) {
  if (!fine) throw Error(ErrorCode::usage, text);
}

/// The code for an errno value.
ErrorCode error_code_of(int error_number);

/// An Error for a failed system call: "cannot <action> <path>: <strerror>", with the code for `error_number`.
Error system_error(int error_number, std::string_view action, const std::string& path);

/// A value, or the Error instead of it. For items (a sample, an object) whose failure is expected; if the whole command
/// cannot continue, throw the Error instead.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit on purpose

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  /// The value; throws the Error if there is none.
  T& value() & {
    if (!has_value()) throw std::get<1>(state_);
    return std::get<0>(state_);
  }
  const T& value() const& {
    if (!has_value()) throw std::get<1>(state_);
    return std::get<0>(state_);
  }
  T&& value() && { return std::move(value()); }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  /// The error; only if !has_value().
  const Error& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace shardkit
