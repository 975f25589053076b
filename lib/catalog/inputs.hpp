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
#include "core/fields.hpp"
#include "io/object_source.hpp"
#include "net/store_source.hpp"

namespace shardkit::catalog {

/// How a verb reaches object stores: part of its options. Secrets are never options, which other users can see.
struct StoreAccess {
  std::string profile = {};
  std::string endpoint_url = {};
  std::string region = {};
  bool anonymous = false;

  void describe(FieldVisitor& v);

  net::StoreOptions store_options() const;
};

/// An object of a source.
struct OpenObject {
  std::shared_ptr<io::ObjectSource> source;
  std::string name;     ///< in the source
  std::string version;  ///< as it was found; empty: not looked for, any
};

/// Throws Error{unsupported} for a local pipe, socket or device, without opening it: inputs are read by offset, some
/// more than once, and who opens a pipe waits for its writer.
void refuse_special_file(const std::string& path);

/// Opens what operands and options name, wherever it lies: local files by their path, objects by the address that
/// messages show. What a listing or a look-up said of an object is not asked again; from then on the object is read in
/// that version only. Stores share connections and credentials. Thread-safe, but for add() and list().
class Inputs {
 public:
  explicit Inputs(const net::StoreOptions& options = {}, std::stop_token stop = {})
      : stores_(options), stop_(std::move(stop)) {}
  Inputs(const StoreAccess& access, std::stop_token stop) : Inputs(access.store_options(), std::move(stop)) {}

  /// Throws Error{not_found} for what is not there, and what refuse_special_file() and the source throw.
  std::unique_ptr<ByteSource> open(const std::string& path);
  /// False also for an object that may not be looked for: who may read objects is often refused for those that are not
  /// there.
  bool exists(const std::string& path);
  /// The whole of a small file. Throws as open(), and Error{corrupt} when it holds more than `limit` bytes.
  std::string text(const std::string& path, std::uint64_t limit = 1ULL << 30U);
  /// An object as it is now, or as it was when it was first asked for; empty when it is not there. Not for local paths.
  std::optional<io::ObjectInfo> find(const std::string& address);
  /// Looks up each address, many at a time. Not for local paths.
  std::vector<std::optional<io::ObjectInfo>> find_all(const std::vector<std::string>& addresses);

  /// Makes the login and query of a place known by its address, for the object and for what lies beside it. Throws
  /// Error{usage} for two places whose addresses without secrets are the same.
  void add(const ObjectLocation& place);
  /// The same of a file that an option names; returns the path to open it by. Local paths, and "", stay as they are.
  std::string add_named(const std::string& text);
  /// What lies right below a folder of a store, or with `deep` at any depth, by name. What it says of them, and of what
  /// lies in hidden folders there, is remembered.
  std::vector<io::ObjectInfo> list(const ObjectLocation& folder, bool deep = false);

  /// The source of what is below a folder. Throws Error{not_found} for a local one that is not there.
  std::unique_ptr<io::ObjectSource> folder(const ObjectLocation& place);
  /// A source that has the object. Nothing is asked yet.
  OpenObject object(const ObjectLocation& place);
  /// The same by its address, with the version that a listing or look-up told of.
  OpenObject known_object(const std::string& address);

  const std::stop_token& stop() const { return stop_; }

 private:
  /// What is remembered of each object that was listed or asked for, some 250 bytes with its address: it is read in
  /// that version later, and nobody asks for it again.
  struct Known {
    std::shared_ptr<io::ObjectSource> source;
    std::optional<io::ObjectInfo> object;
  };

  Known look_up(const std::string& address);
  ObjectLocation place_of(const std::string& address) const;
  std::shared_ptr<io::ObjectSource> shared_source(const ObjectLocation& root);

  net::StoreOpener stores_;
  std::stop_token stop_;
  std::mutex mutex_;
  std::map<std::string, ObjectLocation> places_;                      ///< by address
  std::map<std::string, ObjectLocation> folders_;                     ///< by address without the slash at its end
  std::map<std::string, std::shared_ptr<io::ObjectSource>> sources_;  ///< by what opens them
  std::unordered_map<std::string, Known> known_;                      ///< by address
  std::vector<std::string> listed_;                                   ///< folders, with a slash at their end
};

}  // namespace shardkit::catalog
