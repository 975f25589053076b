#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/index_kinds.hpp"
#include "formats/manifest.hpp"
#include "formats/tar_parser.hpp"

/// `.shardkit/<shard>.md5` (docs/explain/formats.md, "Other files"): a shard's MD5, which a wids index needs, stored so
/// that no shard is read again for it. It includes the shard's size and XXH3-128, so that it never passes for another
/// shard's.
///
/// The shard list of wids, WebDataset's indexed reader: "shardindex.json" (wids_index.py, version 1).
namespace shardkit::formats {

/// ".shardkit/<shard>.md5", relative to the folder of the shard.
std::string shard_md5_path(std::string_view shard);

/// One line: "shardkit-md5", version, shard, bytes, XXH3-128, MD5, separated by tabs. Uses the shard's name, size and
/// hash.
std::string write_shard_md5(const ManifestShard& shard, std::string_view md5);

/// The MD5 in `text` for exactly this shard; empty if it is damaged or belongs to another: then it is computed again.
std::optional<std::string> read_shard_md5(std::string_view text, const ManifestShard& shard);

struct WidsShard {
  std::string url;  ///< absolute, or relative to the index
  std::uint64_t samples = 0;
  std::optional<std::uint64_t> bytes;  ///< "filesize"
  std::string md5 = {};                ///< "md5sum", 32 hexadecimal digits; may be empty
};

struct WidsIndex {
  std::string name;  ///< may be empty
  std::vector<WidsShard> shards;
};

/// True when `text` is a JSON object with a "shardlist".
bool is_wids_index(std::string_view text);

/// Reads what wids itself needs: wids_version and each shard's url and nsamples; other fields may be absent. Throws
/// Error{corrupt} with the field, Error{unsupported} for another version. `path` is for messages.
WidsIndex read_wids_index(std::string_view text, const std::string& path);

inline constexpr const char* kWidsIndexName = "shardindex.json";

/// The index like `widsindex create` of webdataset 0.2.111: sorted by url, no newline at the end. Throws
/// Error{unsupported} for a url that is not UTF-8, which JSON does not allow.
std::string write_wids_index(WidsIndex index);

/// The name that wids derives from the url of the first shard: its words without numbers, "train-000000.tar" is
/// "train"; may be empty.
std::string wids_set_name(std::string_view first_url);

/// Counts a shard's samples like wids, which uses its count for numbering: metadata members count too.
class WidsSampleCounter {
 public:
  void add(const TarEntry& entry);
  std::uint64_t samples() const { return samples_; }

 private:
  std::uint64_t samples_ = 0;
  std::string key_;
};

/// Why wids does not read this member correctly, in words; empty if it does. It supports only plain headers: names of
/// up to 100 bytes, sizes in octal (wids_mmtar.py).
std::string_view wids_trouble(const TarEntry& entry);

/// Its row of index_kinds().
IndexKind wids_index_kind();

}  // namespace shardkit::formats
