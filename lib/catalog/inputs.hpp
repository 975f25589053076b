#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "catalog/object_location.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "io/object_source.hpp"
#include "net/store_opener.hpp"

namespace shardkit::catalog {

/// How a verb accesses object stores: part of its options. Secrets are never options, because other users can see
/// those.
struct StoreAccess : net::S3Options {
  static constexpr std::string_view kTopic = "Object stores";  ///< of all its options

  void describe(FieldList& v);

  /// Repeated requests are reported to `context`, which outlives the stores.
  net::StoreOptions store_options(Context& context) const;
};

/// An object of a source.
struct OpenObject {
  std::shared_ptr<io::ObjectSource> source;
  std::string name;     ///< path in the source
  std::string version;  ///< as found; empty: not looked up, any
};

/// Throws Error{unsupported} for a local pipe, socket or device, without opening it. Inputs are read by offset, some
/// more than once, and opening a pipe would wait for its writer.
void refuse_special_file(const std::string& path);

/// Opens operands and options, local or remote: local files by path, objects by the address shown in messages. Metadata
/// from a listing or look-up is reused, and the object is then read only in that version. Stores share connections and
/// credentials. Thread-safe, except for add() and list().
class Inputs {
 public:
  explicit Inputs(const net::StoreOptions& options = {}, std::stop_token stop = {})
      : stores_(options), stop_(std::move(stop)) {}
  /// `context` outlives the inputs.
  Inputs(const StoreAccess& access, Context& context) : Inputs(access.store_options(context), context.stop_token()) {}

  /// Throws Error{not_found} if it does not exist, and the errors of refuse_special_file() and of the source.
  std::unique_ptr<ByteSource> open(const std::string& path);
  /// False also for an object that may not be looked up: users who may only read objects are often denied for missing
  /// ones.
  bool exists(const std::string& path);
  /// The content of a small file. Throws like open(), and Error{corrupt} if it has more than `limit` bytes.
  std::string text(const std::string& path, std::uint64_t limit = 1ULL << 30U);
  /// An object now, or as it was when first looked up; empty if it does not exist. Not for local paths.
  std::optional<io::ObjectInfo> find(const std::string& address);
  /// Looks up each address, many in parallel. Not for local paths.
  std::vector<std::optional<io::ObjectInfo>> find_all(const std::vector<std::string>& addresses);

  /// Parses a text that the user wrote. Its web server may get the user's token.
  ObjectLocation parse_named(const std::string& text);
  /// Registers the login and query of a location under its address, for the object and those next to it. Throws
  /// Error{usage} for two locations whose addresses without secrets are equal.
  void add(const ObjectLocation& location);
  /// The same for a file of an option; returns the path to open it with. Local paths, and "", are unchanged.
  std::string add_named(const std::string& text);
  /// Contents directly below a folder of a store, or with `deep` at any depth, by name. Their metadata, and that of
  /// hidden folders there, is recorded.
  std::vector<io::ObjectInfo> list(const ObjectLocation& folder, bool deep = false);

  /// The source of the contents of a folder. Throws Error{not_found} for a missing local one.
  std::unique_ptr<io::ObjectSource> folder(const ObjectLocation& location);
  /// A source with the object. Sends no request yet.
  OpenObject object(const ObjectLocation& location);
  /// The same by its address, with the version from a listing or look-up.
  OpenObject known_object(const std::string& address);

  const std::stop_token& stop() const { return stop_; }

 private:
  /// Recorded metadata of each object that was listed or looked up, about 250 bytes with its address: the object is
  /// later read in that version without another request.
  struct Known {
    std::shared_ptr<io::ObjectSource> source;
    std::optional<io::ObjectInfo> object;
  };

  Known look_up(const std::string& address);
  ObjectLocation location_of(const std::string& address) const;
  std::shared_ptr<io::ObjectSource> shared_source(const ObjectLocation& root);

  net::StoreOpener stores_;
  std::stop_token stop_;
  std::mutex mutex_;
  std::map<std::string, ObjectLocation> locations_;                   ///< by address
  std::map<std::string, ObjectLocation> folders_;                     ///< by address without the slash at its end
  std::map<std::string, std::shared_ptr<io::ObjectSource>> sources_;  ///< by login and query
  std::unordered_map<std::string, Known> known_;                      ///< by address
  std::vector<std::string> listed_;                                   ///< folders, with a slash at their end
};

}  // namespace shardkit::catalog
