#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_folder.hpp"
#include "catalog/inputs.hpp"
#include "core/fields.hpp"

namespace shardkit::dataset {

/// How closely convert looks at files with an image's extension (dataset/checks/image_fault.hpp).
enum class Validate { none, magic, header, decode };
constexpr auto enum_names(Validate) { return std::to_array<std::string_view>({"none", "magic", "header", "decode"}); }

/// The treatment of a source file that cannot become a sample.
enum class OnBad { fail, skip, keep };
constexpr auto enum_names(OnBad) { return std::to_array<std::string_view>({"fail", "skip", "keep"}); }

/// How a file is recognized as the planned one.
enum class FileIdentity { mtime, size };
constexpr auto enum_names(FileIdentity) { return std::to_array<std::string_view>({"mtime", "size"}); }

/// How an ordered run of samples is cut into shards, and the names of these.
struct ShardSizes {
  std::optional<std::uint64_t> samples;
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> shards;
  std::optional<std::uint64_t> multiple_of;
  std::string name = "shard";

  void describe(FieldList& v);
};

inline constexpr const char* kDefaultPathColumn = "path";

/// Images that a file lists, instead of a tree of class folders.
struct ListOptions {
  std::string list;
  std::string path_column = kDefaultPathColumn;
  std::string label_column;

  void describe(FieldList& v);
};

/// The definition of a bad file, and its treatment.
struct BadFileOptions {
  std::optional<Validate> validate;
  bool strict = false;
  std::optional<OnBad> on_bad;
  std::string max_bad;

  void describe(FieldList& v);
};

/// Options that decide which bytes a convert writes: common to plan and convert, kept in plan and manifest.
struct ShardingOptions : ShardSizes, BadFileOptions {
  std::optional<std::uint64_t> shuffle;
  bool no_shuffle = false;
  std::string class_map;
  ListOptions images;
  std::string metadata;
  std::vector<std::string> sidecars;
  std::vector<std::string> fields;   ///< templates as declared (catalog::FieldTemplate)
  std::vector<std::string> primary;  ///< extensions; empty: those of images
  bool unlabeled = false;
  std::optional<std::uint64_t> resize;
  std::optional<std::uint64_t> quality;
  catalog::StoreAccess access = {};  ///< of the files that options name

  void describe(FieldList& v);
};

inline constexpr Validate kDefaultValidate = Validate::magic;
inline constexpr OnBad kDefaultOnBad = OnBad::fail;
inline constexpr std::uint64_t kLargestResize = 65500;  // what libjpeg encodes

/// Throws Error{usage} for combinations that contradict each other and names that shards cannot have.
void check(const ShardSizes& sizes);
void check(const ListOptions& images);
void check(const ShardingOptions& options);

/// What the scan of a source, or of its folder `set`, looks for; `cores` is left out. Throws Error{usage} for invalid
/// fields.
catalog::ScanOptions scan_options(const ShardingOptions& options, const std::string& set);

/// How many of `files` may be left out by --max-bad "N" or "P%"; where it is empty, 1 % of them, at least 10. Throws
/// Error{usage} for other texts.
std::uint64_t most_bad(const std::string& max_bad, std::uint64_t files);

/// Sets the limits of a shard if none is given.
void set_defaults(ShardSizes& sizes);

/// Reads labels by class name: a JSON object {"name": label}, or text with one class name a line, the first label 0;
/// empty without a path. Throws Error{corrupt} with the position of a repeated name or a label that is not a whole
/// number.
std::map<std::string, std::uint64_t> read_class_map(const std::string& path, catalog::Inputs& inputs);

/// The options that plan and manifest keep, defaults filled in. Equal maps give equal shards. The name is not included.
std::map<std::string, std::string> plan_texts(ShardingOptions options);

/// How convert and reshard write a plan: which shards, which indexes, on how many cores. No option here changes a
/// shard.
struct WriteOptions {
  std::string part;
  std::optional<std::uint64_t> parts;
  bool recheck = false;
  std::vector<std::string> index;
  bool dry_run = false;
  std::optional<std::uint64_t> threads;

  bool in_parts() const { return !part.empty() || parts.has_value(); }
  void describe(FieldList& v);
};

}  // namespace shardkit::dataset
