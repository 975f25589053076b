#pragma once

#include <cstdint>
#include <optional>

#include "io/object_source.hpp"
#include "net/http_message.hpp"

namespace shardkit {

/// One range of an object, put together from as many answers as it takes. Trusts no server: bytes count only when
/// status, Content-Range, total size and version are those of what was asked for. One thread.
class RangeReader {
 public:
  /// What is referred to outlives the reader.
  RangeReader(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write)
      : object_(object), next_(offset), end_(offset + length), write_(write) {}

  bool done() const { return next_ == end_; }
  /// The next byte that is wanted.
  std::uint64_t next() const { return next_; }

  /// The headers of a request for what is missing.
  HttpHeaders headers() const;

  /// Takes the head of an answer with a status of 2xx and says where its body goes; empty when outcome() is decided.
  /// Throws Error{corrupt} for an answer that contradicts the request. `url` is for messages.
  BodyWriter take_head(const HttpResponse& head, const std::string& url);

  /// Fetched::no_ranges or changed, when an answer said so.
  std::optional<Fetched> outcome() const { return outcome_; }

 private:
  bool is_other_version(const HttpResponse& head, const ContentRange& range) const;
  void take(Bytes bytes, const std::string& url);

  const ObjectInfo& object_;
  std::uint64_t next_;
  const std::uint64_t end_;
  const BodyWriter& write_;
  std::optional<Fetched> outcome_;
};

}  // namespace shardkit
