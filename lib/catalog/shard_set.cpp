#include "catalog/shard_set.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "catalog/operand_places.hpp"
#include "core/error.hpp"
#include "formats/brace_pattern.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit::catalog {
namespace {

constexpr std::string_view kAccepted =
    "a folder of *.tar files, a tar, a pattern x-{000..146}.tar, a list of paths (*.txt) or a wids index (*.json)";

bool is_url(std::string_view text) { return text.find("://") != std::string_view::npos || text.starts_with("pipe:"); }

/// "x.tar", and what was made of one, so that it is reported for what it is.
bool is_tar_name(std::string_view name) {
  return name.ends_with(".tar") || name.find(".tar.") != std::string_view::npos || is_compressed_tar_name(name);
}

/// "; its folder 'train' does" for a folder of sets, as a split makes them.
std::string hint_at_sets_below(const std::string& folder) {
  std::error_code error;
  std::set<std::string> sets;
  for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error)) {
    std::error_code ignored;  // no more than a hint
    for (fs::directory_iterator below(item->path(), ignored), none; !ignored && below != none;
         below.increment(ignored)) {
      if (below->path().extension() != ".tar") continue;
      sets.insert(item->path().string());
      break;
    }
  }
  return sets.empty() ? std::string() : fmt::format("; '{}' does: name each set's own folder", *sets.begin());
}

class Resolver {
 public:
  explicit Resolver(FolderTars tars) : tars_(tars) {}

  void add_operand(const std::string& operand) {
    refuse_url(operand);
    std::error_code error;
    const fs::file_status status = fs::status(operand, error);
    if (fs::is_directory(status)) {
      of_folder_ = true;
      return add_folder(operand);
    }
    if (fs::exists(status)) return add_file(operand);
    // A pattern may be longer than any name.
    const bool absent = error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory ||
                        error == std::errc::filename_too_long;
    if (error && !absent) {
      throw system_error(error.value(), "look at", operand);
    }
    const auto names = formats::expand_braces(operand);
    if (names.size() == 1 && names[0] == operand) throw system_error(ENOENT, "open", operand);
    for (const std::string& name : names) add_shard(name, operand);
  }

  std::vector<ShardFile> take() { return std::move(shards_); }
  std::vector<std::string> take_compressed() { return std::move(compressed_); }
  bool of_folder() const { return of_folder_; }

 private:
  static void refuse_url(const std::string& operand) {
    if (!is_url(operand)) return;
    throw Error(ErrorCode::unsupported,
                fmt::format("'{}' is a URL; shards are read from local and mounted folders: stage them first", operand),
                operand);
  }

  void add_folder(const std::string& folder) {
    std::error_code error;
    std::vector<std::string> names;
    const std::size_t passed_over = compressed_.size();
    for (fs::directory_iterator item(folder, error), end; !error && item != end; item.increment(error)) {
      std::string name = item->path().filename().string();
      if (name.starts_with('.')) continue;
      if (is_compressed_tar_name(name) && tars_ == FolderTars::plain) {
        compressed_.push_back(io::join_path(folder, name));
      } else if (name.ends_with(".tar") || is_compressed_tar_name(name)) {
        names.push_back(std::move(name));
      }
    }
    if (error) throw system_error(error.value(), "list", folder);
    if (names.empty()) refuse_folder(folder, compressed_.size() > passed_over);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) add_listed(io::join_path(folder, name));
  }

  [[noreturn]] void refuse_folder(const std::string& folder, bool holds_compressed) const {
    if (!holds_compressed) {
      throw Error(ErrorCode::not_found,
                  fmt::format("folder '{}' holds no *.tar file{}", folder, hint_at_sets_below(folder)), folder);
    }
    throw Error(ErrorCode::unsupported,
                fmt::format("folder '{}' holds compressed tars alone, such as '{}', which cannot be read at random; "
                            "`shardctl reshard {} OUT` writes plain shards of their samples",
                            folder, compressed_.back(), folder),
                folder);
  }

  void add_file(const std::string& path) {
    if (is_tar_name(path)) return add_shard(path, path);
    if (path.ends_with(".txt")) return add_list(path);
    if (path.ends_with(".json")) return add_wids(path);
    throw Error(ErrorCode::usage, fmt::format("'{}' is none of what shards are named by: {}", path, kAccepted), path);
  }

  void add_list(const std::string& path) {
    for (const std::string& shard : listed_shards(io::read_text_file(path), path)) add_relative(path, shard);
  }

  void add_wids(const std::string& path) {
    for (const std::string& shard : wids_shards(io::read_text_file(path), path)) add_relative(path, shard);
  }

  /// A path as the file `from` names it.
  void add_relative(const std::string& from, const std::string& path) {
    refuse_url(path);
    add_shard(path.starts_with('/') ? path : io::join_path(io::parent_folder(from), path), from);
  }

  void add_shard(const std::string& path, const std::string& named_by) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (error == std::errc::no_such_file_or_directory) {
      throw Error(ErrorCode::not_found, fmt::format("shard '{}', named by '{}', is not there", path, named_by), path);
    }
    if (error) refuse_special_file(path);
    if (error) throw system_error(error.value(), "read as a shard", path);
    add_once(path, bytes);
  }

  /// Who opens a pipe waits for its writer, for ever.
  static void refuse_special_file(const std::string& path) {
    std::error_code ignored;
    if (!fs::is_other(path, ignored)) return;
    throw Error(ErrorCode::unsupported,
                fmt::format("'{}' is a pipe, socket or device; shards are files: they are read by offset", path), path);
  }

  /// A name that a folder lists: what is wrong with it is a finding about the set.
  void add_listed(const std::string& path) {
    std::error_code error;
    const std::uint64_t bytes = fs::file_size(path, error);
    if (error) refuse_special_file(path);
    add_once(path, error ? 0 : bytes);
  }

  void add_once(const std::string& path, std::uint64_t bytes) {
    const fs::path absolute = fs::absolute(path).lexically_normal();
    if (seen_.insert(absolute.string()).second) shards_.push_back({path, absolute.filename().string(), bytes});
  }

  const FolderTars tars_;
  std::vector<ShardFile> shards_;
  std::vector<std::string> compressed_;
  bool of_folder_ = false;
  std::set<std::string> seen_;
};

/// The folder that all shards lie in, as the first one names it; empty when they lie in several.
std::string common_folder(const std::vector<ShardFile>& shards) {
  const auto folder_of = [](const ShardFile& shard) {
    return fs::absolute(shard.path).lexically_normal().parent_path();
  };
  const fs::path first = folder_of(shards.front());
  const bool same =
      std::all_of(shards.begin(), shards.end(), [&](const auto& shard) { return folder_of(shard) == first; });
  return same ? io::parent_folder(shards.front().path) : std::string();
}

}  // namespace

bool is_compressed_tar_name(std::string_view name) {
  constexpr std::array endings{".tgz",     ".tar.gz", ".tar.zst", ".tar.zstd", ".tzst",
                               ".tar.bz2", ".tar.xz", ".txz",     ".tar.lz4",  ".tbz2"};
  return std::ranges::any_of(endings, [&](const char* ending) { return name.ends_with(ending); });
}

ShardSet resolve_shards(const std::vector<std::string>& operands, Context& ctx) {
  ShardSet set = resolve_shards(operands);
  if (!set.compressed.empty()) {
    ctx.warn("compressed_passed_over",
             fmt::format("'{}'{} compressed and passed over; `shardctl reshard` reads such tars and writes plain ones",
                         set.compressed.front(),
                         set.compressed.size() == 1 ? std::string(" is")
                                                    : fmt::format(" and {} more are", set.compressed.size() - 1)));
  }
  return set;
}

ShardSet resolve_shards(const std::vector<std::string>& operands, FolderTars tars) {
  Resolver resolver(tars);
  for (const std::string& operand : operands) resolver.add_operand(operand);
  ShardSet set;
  set.shards = resolver.take();
  set.compressed = resolver.take_compressed();
  set.of_folder = resolver.of_folder();
  if (set.shards.empty()) throw Error(ErrorCode::usage, fmt::format("no shards were named; name {}", kAccepted));
  set.folder = common_folder(set.shards);
  if (set.folder.empty()) return set;
  const std::string manifest = io::join_path(set.folder, formats::kManifestName);
  if (!fs::exists(manifest)) return set;
  set.manifest = formats::read_manifest(io::read_text_file(manifest), manifest);
  set.manifest_path = manifest;
  return set;
}

}  // namespace shardkit::catalog
