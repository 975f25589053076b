#include "staging/lost_journal.hpp"

#include <filesystem>
#include <optional>
#include <vector>

#include <sys/stat.h>

#include "core/error.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/stage_set.hpp"
#include "staging/stage_target.hpp"

namespace shardkit::staging {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNeverSeen = "unknown";  // in place of seen_at(): the next stage reads the file

using Files = std::map<std::string, StagedFile>;

bool is_staged_folder(const fs::path& path) {
  std::error_code error;
  return fs::exists(path / kStageJournalPath, error) || fs::exists(path / kStagedMarkerPath, error);
}

/// Files of this program, which do not belong to a set.
bool is_own(const std::string& name) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return StageTarget::is_own_state(name) || last == kCacheLockName || last == kEvictionLogName ||
         io::is_temp_name(last);
}

/// Modification time in ns; empty if nothing is there.
std::optional<std::int64_t> written_at(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 ? std::optional(io::mtime_ns(info)) : std::nullopt;
}

/// All regular files that could belong to the set, without links and folders that were staged themselves.
Files files_below(const std::string& folder) {
  Files files;
  const auto locked = written_at(io::join_path(folder, kStageLockPath));
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (at->is_directory(gone) && is_staged_folder(at->path())) at.disable_recursion_pending();
    if (at->is_symlink(gone) || !at->is_regular_file(gone)) continue;
    const std::string path = at->path();
    const std::string name = fs::path(path).lexically_relative(folder);
    const auto written = written_at(path);
    const auto size = size_on_disk(path);
    if (is_own(name) || !written || !size) continue;
    files[name] = {*size, "", {}, !locked || *written < *locked, kNeverSeen};
  }
  return files;
}

/// The manifests among these files. One that cannot be read is not of the set.
std::vector<ManifestSet> manifests_among(const Files& files, const std::string& folder) {
  std::vector<ManifestSet> sets;
  for (const auto& [name, file] : files) {
    const std::size_t slash = name.rfind('/') + 1;  // npos + 1 is 0
    if (name.substr(slash) != formats::kManifestName) continue;
    const std::string path = io::join_path(folder, name);
    try {
      std::string text = io::read_text_file(path);
      formats::Manifest manifest = formats::read_manifest(text, path);
      sets.emplace_back(name.substr(0, slash), std::move(text), std::move(manifest));
    } catch (const Error&) {
      continue;
    }
  }
  return sets;
}

/// The files that these manifests list, with their hashes; of the indexes of shards only their sizes are known.
Files listed_in(const std::vector<ManifestSet>& sets, const Files& there) {
  Files listed;
  const auto add = [&](const std::string& name, const std::optional<Hash128>& hash) {
    const auto file = there.find(name);
    if (file == there.end()) return;
    StagedFile known = file->second;
    known.hash = hash.value_or(Hash128());
    known.pin = hash ? to_hex(*hash) : "";
    listed.insert_or_assign(name, std::move(known));
  };
  for (const ManifestSet& set : sets) {
    add(set.name(), set.hash);
    for (const formats::ManifestShard& shard : set.shards) {
      add(set.folder + shard.name, shard.xxh3_128);
      add(set.folder + formats::shard_index_path(shard.name), {});
    }
    for (const formats::ManifestFile& file : set.files) add(set.folder + file.name, file.xxh3_128);
  }
  return listed;
}

bool are_all(const Files& files, const StagedMarker& marker) {
  std::uint64_t bytes = 0;
  for (const auto& [name, file] : files) bytes += file.bytes;
  return files.size() == marker.files && bytes == marker.bytes;
}

}  // namespace

void restore_journal(const std::string& folder, const StagedMarker& marker, StageJournal::State& journal) {
  if (!journal.set) journal.set = StagedSetId{marker.manifest, marker.bytes, marker.source};
  if (journal.files.size() >= marker.files) return;
  Files there = files_below(folder);
  const std::vector<ManifestSet> sets = manifests_among(there, folder);
  const bool are_sets_known = !sets.empty() && hash_of_sets(sets) == marker.manifest;
  Files known = are_sets_known ? listed_in(sets, there) : Files();
  journal.files.merge(known);
  if (are_all(there, marker)) journal.files.merge(there);
}

StageJournal::State journal_of(const std::string& folder) {
  StageJournal::State journal = StageJournal::read(io::join_path(folder, kStageJournalPath));
  if (const auto marker = find_staged_marker(folder)) restore_journal(folder, *marker, journal);
  return journal;
}

}  // namespace shardkit::staging
