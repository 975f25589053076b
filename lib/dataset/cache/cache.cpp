#include "dataset/cache/cache.hpp"

#include "core/error.hpp"
#include "io/page_cache.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {

std::string CacheFile::path() const { return io::join_path(folder, name); }

std::vector<staging::StagedFolder> cache_folders(const std::string& folder, Context& context) {
  context.progress().start("look for staged folders");
  staging::require_local_folder(folder, context);
  return staging::staged_folders(folder, context.stop_token());
}

std::vector<CacheFile> cache_files(const std::vector<staging::StagedFolder>& folders) {
  std::vector<CacheFile> files;
  for (const staging::StagedFolder& folder : folders) {
    if (folder.state == staging::StagedState::unreadable) continue;
    staging::StageJournal::State journal =
        staging::StageJournal::read(io::join_path(folder.path, staging::kStageJournalPath));
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
    const io::File open = io::File::open_regular(file.path());
    const auto cached = io::cached_bytes(open);
    return {open.size(), cached.value_or(0), cached.has_value()};
  } catch (const Error& error) {
    if (error.code() == ErrorCode::not_found || error.code() == ErrorCode::corrupt) return {};
    if (error.code() == ErrorCode::denied) return {0, 0, false};
    throw;
  }
}

Residency residency_of(const std::vector<CacheFile>& files, Context& context) {
  Residency sum;
  for (const CacheFile& file : files) {
    context.throw_if_stopped();
    sum += residency_of(file);
  }
  return sum;
}

}  // namespace shardkit::dataset
