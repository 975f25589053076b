#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "io/object_source.hpp"

namespace shardkit {

/// Objects and whole folders of several sources, as one source. An object has the name it was added by, what is in a
/// folder has its name there. First all is added, by one thread; from then on it is thread-safe.
class MergedSource final : public ObjectSource {
 public:
  /// What waits in list() ends when `stop` is requested.
  explicit MergedSource(std::stop_token stop) : stop_(std::move(stop)) {}

  void add_folder(std::shared_ptr<ObjectSource> folder);
  /// The object that `source` knows as `inner`. Throws Error{usage} with both addresses when there is another object of
  /// that name.
  void add_object(const std::string& name, std::shared_ptr<ObjectSource> source, std::string inner);

  /// "s3://bucket/train and 2 more".
  const std::string& location() const override { return location_; }
  std::string address_of(const std::string& name) const override;

  /// All folders' objects, and the single ones. Throws Error{usage} with both addresses when two have one name,
  /// Error{not_found} for a single one that is not there, and what the sources throw.
  std::vector<ObjectInfo> list() override;
  std::vector<std::string> names_in(const std::string& folder) override;
  /// Where two folders have the name, the one that was added first has it.
  std::optional<ObjectInfo> find(const std::string& name) override;
  Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                const std::stop_token& stop) override;
  Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                      const std::stop_token& stop) override;

 private:
  struct Owner {
    std::shared_ptr<ObjectSource> source;
    std::string inner;
  };

  std::optional<Owner> owner_of(const std::string& name) const;
  void remember(const std::string& name, const std::shared_ptr<ObjectSource>& folder);
  void name_location();
  [[noreturn]] static void refuse_pair(const std::string& name, const Owner& one, const Owner& other);

  std::stop_token stop_;
  std::string location_;
  std::vector<std::shared_ptr<ObjectSource>> folders_;
  std::vector<std::string> names_;  ///< of the single objects, in the order added
  std::unordered_map<std::string, Owner> objects_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<ObjectSource>> in_folders_;  ///< whose the names are, as far as known
};

}  // namespace shardkit
