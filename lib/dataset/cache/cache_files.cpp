#include "dataset/cache/cache_files.hpp"

#include "core/error.hpp"
#include "dataset/stage/local_folder.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit {

std::string CacheFile::path() const { return join_path(folder, name); }

std::vector<StagedFolder> cache_folders(const std::string& folder, Context& ctx) {
  ctx.progress().start("look for staged folders");
  check_local(folder);
  return staged_folders(folder, ctx.stop_token());
}

std::vector<CacheFile> cache_files(const std::vector<StagedFolder>& folders) {
  std::vector<CacheFile> files;
  for (const StagedFolder& folder : folders) {
    if (folder.state == StagedState::unreadable) continue;
    StageJournal::State journal = StageJournal::read(join_path(folder.path, kStageJournalPath));
    for (auto& [name, staged] : journal.files) files.push_back({folder.path, name, std::move(staged)});
  }
  return files;
}

std::optional<double> Residency::ratio() const {
  if (!known || bytes == 0) return std::nullopt;
  return static_cast<double>(cached) / static_cast<double>(bytes);
}

Residency& Residency::operator+=(const Residency& more) {
  bytes += more.bytes;
  cached += more.cached;
  known = known && more.known;
  return *this;
}

Residency residency_of(const CacheFile& file) {
  try {
    const File open = File::open_read(file.path());
    const auto cached = cached_bytes(open);
    return {open.size(), cached.value_or(0), cached.has_value()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found) return {};
    if (error.code() == ErrorCode::denied) return {0, 0, false};
    throw;
  }
}

Residency residency_of(const std::vector<CacheFile>& files, Context& ctx) {
  Residency sum;
  for (const CacheFile& file : files) {
    ctx.throw_if_stopped();
    sum += residency_of(file);
  }
  return sum;
}

}  // namespace shardkit
