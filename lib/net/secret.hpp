#pragma once

#include <string>

namespace shardkit {

/// A text that no message, log or result may hold: a key, a token, a password. It cannot be printed or compared by
/// accident; reveal() is the one way out, at the few places that send or sign. Its memory is wiped when it goes.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string text) : text_(std::move(text)) {}
  ~Secret();
  Secret(const Secret&) = default;
  Secret& operator=(const Secret& other);
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;

  bool empty() const { return text_.empty(); }
  const std::string& reveal() const { return text_; }

 private:
  void wipe();

  std::string text_;
};

}  // namespace shardkit
