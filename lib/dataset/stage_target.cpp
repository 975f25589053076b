#include "dataset/stage_target.hpp"

#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/error.hpp"
#include "formats/manifest.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit {
namespace {

constexpr const char* kMarkerName = "staged.json";
constexpr const char* kJournalName = "stage.journal";
constexpr const char* kLockName = "stage.lock";
constexpr const char* kPartialFolder = "staging";

}  // namespace

StageTarget::StageTarget(FileSystem& files, std::string folder) : files_(files), folder_(std::move(folder)) {
  while (folder_.size() > 1 && folder_.ends_with('/'))
    folder_.pop_back();  // so that it equals a file's parent_folder()
}

bool StageTarget::is_own_state(const std::string& name) {
  const std::string state = std::string(kStateFolder) + "/";
  for (const char* own : {kMarkerName, kJournalName, kLockName}) {
    if (name == state + own) return true;
  }
  return name.starts_with(state + kPartialFolder + "/");
}

std::string StageTarget::path_of(const std::string& name) const { return join_path(folder_, name); }

std::string StageTarget::state_path(const char* name) const { return join_path(path_of(kStateFolder), name); }

std::string StageTarget::partial_path(const std::string& name) const {
  return join_path(state_path(kPartialFolder), to_hex(xxh3_128(as_bytes(name))) + ".partial");
}

std::optional<StagedMarker> StageTarget::marker() const {
  const std::string path = state_path(kMarkerName);
  if (!size_on_disk(path)) return std::nullopt;
  return read_staged_marker(read_text_file(path, 1U << 20U), path);
}

std::optional<StagedMarker> StageTarget::complete(const Hash128& hash, const std::vector<ObjectInfo>& foreign) const {
  const auto found = marker();
  if (!found || !(found->manifest == hash)) return std::nullopt;
  const auto entries = StageJournal::read(state_path(kJournalName));
  if (entries.size() != found->files) return std::nullopt;
  for (const auto& [name, entry] : entries) {
    if (!entry.done || size_on_disk(path_of(name)) != entry.bytes) return std::nullopt;
  }
  for (const ObjectInfo& index : foreign) {
    const auto known = entries.find(index.name);
    if (known == entries.end()) return std::nullopt;
    if (!index.version.empty() && known->second.pin != index.version) return std::nullopt;
  }
  return found;
}

void StageTarget::lock(const std::stop_token& stop) {
  files_.create_directories(state_path(kPartialFolder));
  lock_.emplace(state_path(kLockName), stop);
}

void StageTarget::adopt(const Hash128& hash, const std::vector<StageFile>& wanted) {
  const auto found = marker();
  if (found && !(found->manifest == hash)) {
    throw Error(
        ErrorCode::conflict,
        fmt::format("'{}' holds a finished copy of another set (from '{}', manifest {}; asked for is {}); choose "
                    "an empty folder, or remove this one once nobody reads it",
                    folder_, found->source, to_hex(found->manifest), to_hex(hash)),
        folder_);
  }
  if (found) {
    files_.remove(state_path(kMarkerName));
    files_.sync_directory(path_of(kStateFolder));
  }
  for (const std::string& folder : {folder_, path_of(kStateFolder)}) remove_stale_temps(files_, folder);
  remove_outdated(wanted);
}

/// What an unfinished copy of another set brought, and partial files of which the journal had nothing to say yet. Only
/// what is named in the journal or lies in our own folder is ours to remove.
void StageTarget::remove_outdated(const std::vector<StageFile>& wanted) {
  std::set<std::string> names{kManifestName};
  std::set<std::string> partials;
  for (const StageFile& file : wanted) {
    names.insert(file.object.name);
    partials.insert(partial_path(file.object.name));
  }
  auto entries = StageJournal::read(state_path(kJournalName));
  std::erase_if(entries, [&](const auto& item) {
    if (names.contains(item.first)) return false;
    if (item.second.done) files_.remove(path_of(item.first));
    return true;
  });
  for (const auto& entry : std::filesystem::directory_iterator(state_path(kPartialFolder))) {
    if (!partials.contains(entry.path())) files_.remove(entry.path());
  }
  journal_ = std::make_unique<StageJournal>(files_, state_path(kJournalName), std::move(entries));
}

std::uint64_t StageTarget::bytes_present(const StageFile& file) const {
  if (const auto size = size_on_disk(path_of(file.object.name))) return *size;
  return size_on_disk(partial_path(file.object.name)).value_or(0);
}

void StageTarget::finish(const std::string& manifest_text, const StagedMarker& marker,
                         const std::vector<StageFile>& wanted) {
  if (!manifest_text.empty()) {
    publish(files_, path_of(kManifestName), as_bytes(manifest_text));
    journal_->record(kManifestName, {true, manifest_text.size(), to_hex(marker.manifest)});
  }
  journal_->sync();
  std::set<std::string> folders{folder_};
  for (const StageFile& file : wanted) {
    for (std::string up = parent_folder(path_of(file.object.name)); folders.insert(up).second;) up = parent_folder(up);
  }
  for (const std::string& folder : folders) files_.sync_directory(folder);
  const std::string text = write_staged_marker(marker);
  publish(files_, state_path(kMarkerName), as_bytes(text));
}

std::optional<std::uint64_t> size_on_disk(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) return static_cast<std::uint64_t>(info.st_size);
  if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
  throw system_error(errno, "stat", path);
}

}  // namespace shardkit
