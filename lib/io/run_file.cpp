#include "io/run_file.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/hash.hpp"
#include "core/prng.hpp"
#include "core/text.hpp"
#include "system/host.hpp"
#include "system/storage.hpp"

namespace shardkit::io {
namespace {

constexpr std::string_view kEnding = ".run";
constexpr std::string_view kMagic = "shardkit-run\t1\t";
constexpr std::chrono::seconds kBeat{15};
constexpr std::size_t kLongestFile = 4096;

/// One line: magic, version, host, process, start, plan, part, XXH3-64 of everything before it.
std::string text_of(const Run& run) {
  const std::string text =
      fmt::format("{}{}\t{}\t{}\t{}\t{}\t", kMagic, run.host, run.process, run.started_at, run.plan, run.part);
  return text + to_hex(xxh3_64(as_bytes(text))) + '\n';
}

/// Works on a plan that is no other's.
Run unreadable() { return {"", 0, "", "unknown"}; }

Run parse_run(std::string_view text) {
  std::vector<std::string_view> columns;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\t\n", begin), text.size());
    columns.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::uint64_t process = 0;
  if (columns.size() != 9 || !parse_number(columns[3], process)) return unreadable();
  Run run{std::string(columns[2]), process, std::string(columns[4]), std::string(columns[5]), std::string(columns[6])};
  return text_of(run) == text ? run : unreadable();
}

Run read_run(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC), path);
  if (!file) return unreadable();
  std::string text(kLongestFile, '\0');
  text.resize(file.read_at(0, std::as_writable_bytes(std::span(text))));
  return parse_run(text);
}

/// By the clock of the file system; the beginning of time if there is no such file.
system::WallTime changed_at(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  return system::WallTime(std::chrono::seconds(info.st_mtim.tv_sec));
}

bool has_lock(const std::string& path) {
  try {
    return is_locked(path);
  } catch (const Error&) {  // no locks here
    return false;
  }
}

bool is_live(const std::string& path, LockReach reach, system::WallTime now) {
  if (has_lock(path)) return true;
  return reach == LockReach::perhaps_not && now - changed_at(path) < kRunSilence;
}

std::vector<std::string> run_names(const std::string& folder) {
  const File opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC), folder);
  if (!opened) return {};
  std::vector<std::string> names = names_in(opened);
  std::erase_if(names, [](const std::string& name) { return name.starts_with('.') || !name.ends_with(kEnding); });
  return names;
}

}  // namespace

bool is_run_name(std::string_view name) { return name.ends_with(kEnding); }

std::string describe(const Run& run) {
  if (run.host.empty()) return "a process with an unreadable run file";
  return fmt::format("process {} on host '{}', since {}", run.process, run.host, run.started_at);
}

LockReach lock_reach(const std::string& folder) {
  const bool is_local = system::locality_of(system::storage_of(folder).file_system) == system::Locality::local;
  return is_local ? LockReach::everyone : LockReach::perhaps_not;
}

RunFile::RunFile(OutputFiles& files, std::string folder)
    : files_(files),
      folder_(std::move(folder)),
      path_(join_path(folder_, to_hex(random_bits()).append(kEnding))),
      run_{system::this_host().hostname, static_cast<std::uint64_t>(::getpid()),
           system::rfc3339(system::system_clock().now()), ""} {
  announce();
  thread_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
}

void RunFile::remove_dead() {
  const LockReach reach = lock_reach(folder_);
  for (const std::string& name : run_names(folder_)) {
    const std::string path = join_path(folder_, name);
    if (path != path_ && !is_live(path, reach, changed_at(path_))) files_.remove(path);
  }
}

RunFile::~RunFile() {
  thread_.request_stop();
  thread_.join();
  try {
    files_.remove(path_);
  } catch (const Error&) {  // without its lock it counts as dead
  }
}

void RunFile::follow(std::string plan) {
  const std::scoped_lock lock(mutex_);
  run_.plan = std::move(plan);
  announce();
}

void RunFile::take(std::string part) {
  const std::scoped_lock lock(mutex_);
  run_.part = std::move(part);
  announce();
}

/// The new file is locked before it gets the name, and the old one until it has lost it.
void RunFile::announce() {
  auto file = std::make_unique<AtomicFile>(files_, path_);
  file->write(as_bytes(text_of(run_)));
  file->commit_without_sync();
  file_ = std::move(file);
}

void RunFile::beat(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, kBeat, [&] { return stop.stop_requested(); })) {
    try {
      require();
      announce();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::in_use) return;
      // A full disk: the next beat may succeed before others take the process for dead.
    }
  }
}

std::vector<Run> RunFile::others() const {
  return live_runs(folder_, lock_reach(folder_), changed_at(path_), path_.substr(path_.rfind('/') + 1));
}

void RunFile::require() const {
  if (std::filesystem::exists(path_)) return;
  throw Error(ErrorCode::in_use, At{folder_},
              "this process gave no sign of life for {} s, so another one took over '{}'; run the same command again",
              kRunSilence.count(), parent_folder(folder_));
}

std::vector<Run> live_runs(const std::string& folder, LockReach reach, system::WallTime now, std::string_view own) {
  std::vector<Run> runs;
  for (const std::string& name : run_names(folder)) {
    const std::string path = join_path(folder, name);
    if (name != own && is_live(path, reach, now)) runs.push_back(read_run(path));
  }
  return runs;
}

std::vector<Run> announced_runs(const std::string& folder) {
  std::vector<Run> runs;
  for (const std::string& name : run_names(folder)) runs.push_back(read_run(join_path(folder, name)));
  return runs;
}

}  // namespace shardkit::io
