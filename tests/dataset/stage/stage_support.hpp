#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "core/error.hpp"
#include "core/prng.hpp"
#include "dataset/convert/convert.hpp"
#include "dataset/stage/stage.hpp"
#include "support/files.hpp"
#include "support/image_tree.hpp"
#include "support/temp_dir.hpp"

namespace shardkit_test {

using namespace shardkit;
using namespace shardkit::dataset;
using namespace shardkit::io;
using namespace shardkit::staging;

inline constexpr std::uint64_t kPart = 1U << 20U;

/// A source in memory that counts what is read, and can break. Reads from several threads are fine as long as nothing
/// is done after them.
class FakeSource final : public ObjectSource {
 public:
  /// Reads of `name` at or after `byte` throw Error{io}.
  void break_at(std::string name, std::uint64_t byte) { broken_ = {std::move(name), byte}; }
  void repair() { broken_.reset(); }
  /// The first `times` reads of byte `byte` of `name` have a bit flipped.
  void flip(std::string name, std::uint64_t byte, int times) { flipped_ = {std::move(name), byte, times}; }
  bool flips_other_bits = false;  ///< in each of these reads, as a bad network does

  /// Calls `action` after each read once `byte` bytes have been read in all.
  void at_byte(std::uint64_t byte, std::function<void()> action) {
    at_every_read([this, byte, action = std::move(action)] {
      if (bytes_read >= byte) action();
    });
  }
  /// Calls `action` after each read.
  void at_every_read(std::function<void()> action) { after_read_ = std::move(action); }

  std::map<std::string, std::string> content;
  std::map<std::string, Checksum> checksums;  ///< that find() knows, of these names
  enum class Versions { hash, none };
  Versions versions = Versions::hash;
  std::uint64_t bytes_read = 0;
  unsigned whole_reads = 0;

  const std::string& location() const override { return location_; }
  std::vector<ObjectInfo> list(const std::string& folder) override {
    std::vector<ObjectInfo> found;
    for (const auto& [name, bytes] : content) {
      if (folder.empty() || name.starts_with(folder + "/")) found.push_back({name, bytes.size(), version_of(bytes)});
    }
    return found;
  }
  std::vector<std::string> names_in(const std::string& folder) override {
    const std::string prefix = folder.empty() ? "" : folder + "/";
    std::set<std::string> names;
    for (const auto& [name, bytes] : content) {
      if (!name.starts_with(prefix)) continue;
      const std::size_t slash = name.find('/', prefix.size());
      names.insert(slash == std::string::npos ? name : name.substr(0, slash + 1));
    }
    return {names.begin(), names.end()};
  }
  std::optional<ObjectInfo> find(const std::string& name) override {
    const auto found = content.find(name);
    if (found == content.end()) return std::nullopt;
    ObjectInfo object{name, found->second.size(), version_of(found->second)};
    if (const auto known = checksums.find(name); known != checksums.end()) object.checksum = known->second;
    return object;
  }
  bool knows_checksums() const override { return !checksums.empty(); }
  Fetched fetch(const ObjectInfo& object, std::uint64_t offset, std::uint64_t length, const BodyWriter& write,
                const std::stop_token& stop) override {
    std::string block;
    if (!find(object.name)) return Fetched::changed;
    for (std::uint64_t done = 0; done < length; done += block.size()) {
      if (stop.stop_requested()) throw Error(ErrorCode::cancelled, "stopped");
      const std::string& bytes = content.at(object.name);
      if (offset + done >= bytes.size()) return Fetched::changed;
      block = bytes.substr(offset + done, std::min(kPart, length - done));
      if (broken_ && broken_->first == object.name && offset + done + block.size() > broken_->second) {
        throw Error(ErrorCode::io, "the cable was pulled", object.name, offset + done);
      }
      {
        const std::scoped_lock lock(*mutex_);
        flip_in(block, object.name, offset + done);
        bytes_read += block.size();
      }
      write(as_bytes(block));
      if (after_read_) after_read_();
    }
    return object.version.empty() || find(object.name)->version == object.version ? Fetched::whole : Fetched::changed;
  }
  Fetched fetch_whole(const ObjectInfo& object, const std::function<BodyWriter()>& start,
                      const std::stop_token& stop) override {
    ++whole_reads;
    return fetch(object, 0, object.size, start(), stop);
  }

 private:
  std::string version_of(const std::string& bytes) const {
    if (versions == Versions::none) return {};
    return to_hex(xxh3_64(as_bytes(bytes)));
  }

  struct Flip {
    std::string name;
    std::uint64_t byte;
    int times;
  };

  void flip_in(std::string& block, const std::string& name, std::uint64_t offset) {
    if (flipped_.name != name || flipped_.times == 0) return;
    if (flipped_.byte < offset || flipped_.byte >= offset + block.size()) return;
    char& byte = block[flipped_.byte - offset];
    byte = static_cast<char>(byte ^ (flips_other_bits ? static_cast<int>(flipped_.times % 100) + 1 : 1));
    --flipped_.times;
  }

  std::string location_ = "/fake";
  std::optional<std::pair<std::string, std::uint64_t>> broken_;
  Flip flipped_{"", 0, 0};
  std::function<void()> after_read_;
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
};

inline std::string noise(std::size_t bytes, std::uint64_t seed) {
  Prng prng(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(prng.next());
  return text;
}

/// A folder "shards" of three shards with manifest and indexes, and the same as a FakeSource.
struct Shards {
  Shards() {
    ImageTree{dir.path("src"), 2, 30, 20'000}.make();
    ConvertOptions options;
    options.source = dir.path("src");
    options.target = dir.path("shards");
    options.sharding.samples = 20;
    Context context;
    convert(options, context);
    plan = read_file(dir.path("shards/.shardkit/plan"));
    std::filesystem::remove(dir.path("shards/.shardkit/plan"));
    content = tree_content(dir.path("shards"));
  }

  FakeSource fake() const {
    FakeSource source;
    source.content = content;
    return source;
  }

  TempDir dir;
  std::map<std::string, std::string> content;
  std::string plan;  ///< that is not in the folder
};

inline StageOptions into(const std::string& target) {
  StageOptions options;
  options.target = target;
  options.share.lease_id = "test";
  return options;
}

/// What stage() makes of --manifest.
inline StageRequest wanted(const StageOptions& options) {
  StageRequest wanted;
  wanted.use_manifests = options.manifest != "none";
  if (options.manifest.empty()) wanted.manifest_name = "manifest.json";
  if (options.manifest.empty() || options.manifest == "none") return wanted;
  wanted.manifest_path = options.manifest;
  wanted.manifest_text = read_file(options.manifest);
  return wanted;
}

/// One request at a time, in steps as small as a test needs.
inline CopyLimits steps(std::uint64_t bytes = kPart) { return {1, 1, 64 * kPart, {bytes}, {}}; }

/// stage_on() that throws for files that failed.
inline StageResult stage_whole(FileSystem& files, ObjectSource& source, const StageRequest& wanted,
                               const StageOptions& options, Context& context, const CopyLimits& limits) {
  StageResult result = stage_on(files, source, wanted, options, context, limits);
  result.throw_if_failed();
  return result;
}

inline StageResult run(ObjectSource& source, const StageOptions& options) {
  Context context;
  return stage_whole(*posix_file_system(), source, wanted(options), options, context, steps());
}

/// The error that staging ends with; fails the test when it ends without.
inline Error failure(ObjectSource& source, const StageOptions& options) {
  try {
    run(source, options);
  } catch (const Error& error) {
    return error;
  }
  FAIL("staged without an error");
  return {ErrorCode::io, ""};
}

inline bool says(const Error& error, std::string_view text) {
  return std::string_view(error.what()).find(text) != std::string_view::npos;
}

/// The only partial file of a target.
inline std::string partial_in(const std::string& target) {
  for (const auto& entry : std::filesystem::directory_iterator(target + "/.shardkit/staging")) {
    if (entry.path().extension() == ".partial") return entry.path();
  }
  FAIL("there is no partial file");
  return {};
}

/// What a target holds besides the stage's own records.
inline std::map<std::string, std::string> staged_content(const std::string& target) {
  auto content = tree_content(target);
  for (const char* own : {"staged.json", "staged.lock", "stage.journal", "stage.lock"}) {
    content.erase(std::string(".shardkit/") + own);
  }
  std::erase_if(content, [](const auto& item) { return item.first.starts_with(".shardkit/leases/"); });
  return content;
}

}  // namespace shardkit_test
