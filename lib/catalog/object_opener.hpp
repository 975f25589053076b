#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "catalog/object_place.hpp"
#include "io/object_source.hpp"
#include "net/store_source.hpp"

namespace shardkit {

/// An object of a source.
struct OpenObject {
  std::shared_ptr<ObjectSource> source;
  std::string name;  ///< in the source
};

/// Opens what lies at places. Sources of stores share connections and credentials. One thread at a time.
class ObjectOpener {
 public:
  ObjectOpener(const StoreOptions& options, std::stop_token stop) : stores_(options), stop_(std::move(stop)) {}

  /// The source of what is below a folder. Throws Error{not_found} for a local one that is not there.
  std::unique_ptr<ObjectSource> folder(const ObjectPlace& place);
  /// A source that has the object. Nothing is asked yet.
  OpenObject object(const ObjectPlace& place);
  /// The whole of a small object. Throws Error{not_found} when it is not there, Error{corrupt} past 1 GiB.
  std::string text(const ObjectPlace& place);
  bool exists(const ObjectPlace& place);

  const std::stop_token& stop() const { return stop_; }

 private:
  StoreOpener stores_;
  std::stop_token stop_;
};

}  // namespace shardkit
