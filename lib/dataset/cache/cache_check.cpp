#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache.hpp"
#include "io/file.hpp"
#include "staging/node_cache.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

/// One check from found folders to result.
class CacheCheck {
 public:
  CacheCheck(const CacheCheckOptions& options, Context& ctx)
      : options_(options),
        ctx_(ctx),
        threads_(system::thread_count(options.threads)),
        folders_(cache_folders(options.folder, ctx)) {
    result_.quick = options.quick;
  }

  CacheCheckResult run() {
    const auto start = std::chrono::steady_clock::now();
    look_at_folders();
    files_ = cache_files(folders_);
    result_.files = files_.size();
    for (const CacheFile& file : files_) result_.bytes += file.staged.bytes;
    ctx_.progress().start("check", files_.size(), options_.quick ? 0 : result_.bytes);
    check_files();
    look_for_strays();
    if (options_.repair) repair();
    advise();
    std::ranges::stable_sort(result_.problems, {}, &Problem::shard);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (!options_.quick) result_.bytes_per_second = static_cast<double>(result_.bytes) / elapsed.count();
    return std::move(result_);
  }

 private:
  void look_at_folders() {
    result_.folders = folders_.size();
    for (const staging::StagedFolder& folder : folders_) {
      for (const staging::LeaseFile& lease : folder.leases) {
        if (!lease.lease) add("bad_lease", Severity::warning, folder.path, staging::describe(lease));
      }
      if (folder.at_work) {
        add("in_progress", Severity::warning, folder.path, "it is being staged or evicted now: not checked");
      } else if (folder.state == staging::StagedState::unreadable) {
        add("unreadable", Severity::error, folder.path, folder.fault + ": not checked");
      } else if (!folder.fault.empty()) {
        add("marker_mismatch", Severity::error, folder.path, folder.fault + ": what is not named cannot be checked");
        to_stage_again_.insert(folder.path);
        damaged_[folder.path];
      } else if (folder.state != staging::StagedState::complete) {
        add("incomplete", Severity::error, folder.path,
            "no marker says that it is whole: its stage failed, was stopped or is still to come back");
        to_stage_again_.insert(folder.path);
      }
    }
    std::erase_if(folders_, [](const staging::StagedFolder& folder) {
      return folder.at_work || folder.state == staging::StagedState::unreadable;
    });
  }

  void check_files() {
    sync::for_each_index(files_.size(), threads_, ctx_.stop_token(), [&](std::size_t at, std::size_t) {
      check_file(files_[at]);
      ++ctx_.progress().items;
    });
  }

  void check_file(const CacheFile& file) {
    const auto found = [&](std::string code, bool is_there, std::string text) {
      add(std::move(code), Severity::error, file.path(), std::move(text));
      const std::scoped_lock lock(mutex_);
      to_stage_again_.insert(file.folder);
      auto& names = damaged_[file.folder];
      if (is_there) names.push_back(file.name);
    };
    try {
      io::FileSource open(file.path());
      if (const std::uint64_t size = open.size(); size != file.staged.bytes) {
        return found("wrong_size", true, fmt::format("it has {} bytes; {} were staged", size, file.staged.bytes));
      }
      if (options_.quick) return;
      Xxh3Stream hash;
      open.stream_all([&](Bytes piece) {
        ctx_.throw_if_stopped();
        hash.update(piece);
        ctx_.progress().bytes += piece.size();
      });
      if (hash.digest() == file.staged.hash) return;
      found("wrong_bytes", true,
            fmt::format("its bytes have XXH3-128 {}; those that were staged had {}", to_hex(hash.digest()),
                        to_hex(file.staged.hash)));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_found)
        return found("missing", false, "it was staged and is not there any more");
      if (error.code() == ErrorCode::cancelled) throw;
      add("unreadable", Severity::error, file.path(), error.what());
    }
  }

  /// Shards that a reader of *.tar would take for a part of the set.
  void look_for_strays() {
    std::set<std::string> known;
    for (const CacheFile& file : files_) known.insert(file.path());
    for (const staging::StagedFolder& folder : folders_) {
      std::error_code error;  // a folder that went meanwhile has no strays
      for (const auto& entry : fs::directory_iterator(folder.path, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with('.') || entry.is_directory(error) || known.contains(entry.path())) continue;
        add("stray", Severity::warning, entry.path(), "no stage brought it, but readers of this folder may take it");
      }
    }
  }

  void repair() {
    const auto files = io::posix_file_system();
    const system::WallTime now = system::system_clock().now();
    for (auto& [folder, names] : damaged_) {
      ctx_.throw_if_stopped();
      try {
        if (staging::discard(*files, folder, names, now)) {
          result_.discarded += names.size();
          names.clear();
          continue;
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::denied) throw;
        ctx_.warn("not_repaired", error.what());
        continue;
      }
      const auto use = staging::look_at_staged(folder);
      ctx_.warn("not_repaired",
                fmt::format("{}: its marker and damaged files stay", use ? staging::describe_use(*use, now) : folder));
    }
  }

  /// What brings the missing files, in the order to run it: a stage takes a file of the right size for whole, so wrong
  /// bytes go first, and none go from a leased folder.
  void advise() {
    const system::WallTime now = system::system_clock().now();
    for (const staging::StagedFolder& folder : folders_) {
      if (!to_stage_again_.contains(folder.path)) continue;
      if (const auto damaged = damaged_.find(folder.path); damaged != damaged_.end() && !damaged->second.empty()) {
        if (folder.is_leased(now))
          result_.remedies.push_back(remedy::release(folder.path) + "  # once nobody reads it");
        result_.remedies.push_back(remedy::check_and_repair(folder.path) + "  # removes damaged files");
      }
      result_.remedies.push_back(stage_again(folder));
    }
  }

  /// The command that stages it again; of a part of a source, which no command is known of, what it was.
  static std::string stage_again(const staging::StagedFolder& folder) {
    const std::string target = shell_word(folder.path);
    const std::string source = folder.source.empty() ? "SRC" : shell_word(folder.source);
    const bool is_part = folder.marker && !folder.marker->subsets.empty();
    if (is_part || folder.source.empty() || (folder.source.ends_with(" more") && !fs::exists(folder.source))) {
      return fmt::format("# then stage {} again as it was staged: {} of {}", target,
                         is_part ? fmt::to_string(fmt::join(folder.marker->subsets, ", ")) : "all", source);
    }
    const bool by_size = folder.marker && folder.marker->verified == "size";
    return remedy::stage(folder.source, folder.path, by_size) +
           "  # with the options it was staged with: fetches what is missing";
  }

  void add(std::string code, Severity severity, const std::string& path, std::string text) {
    const std::scoped_lock lock(mutex_);
    ++result_.problems_total;
    ++(severity == Severity::error ? result_.errors : result_.warnings);
    if (result_.problems.size() == CacheCheckResult::kMostProblems) return;
    const std::string place = fs::path(path).lexically_relative(options_.folder);
    result_.problems.push_back({std::move(code), severity, place, {}, {}, std::move(text), 1});
  }

  const CacheCheckOptions& options_;
  Context& ctx_;
  const unsigned threads_;
  std::vector<staging::StagedFolder> folders_;
  std::vector<CacheFile> files_;
  std::mutex mutex_;  ///< of what follows
  CacheCheckResult result_;
  std::map<std::string, std::vector<std::string>> damaged_;  ///< names to remove, by folder that is not whole
  std::set<std::string> to_stage_again_;
};

}  // namespace

CacheCheckResult cache_check(const CacheCheckOptions& options, Context& ctx) { return CacheCheck(options, ctx).run(); }

void CacheCheckOptions::describe(FieldVisitor& v) {
  v.field({"DIR", "a node cache, or one staged folder", Role::positional, kSharedOutput}, folder);
  v.field({"quick", "look at names and sizes only, read nothing"}, quick);
  v.field({"repair",
           "remove damaged files, and the marker of what is not whole, of folders that nobody leases, so that the next "
           "stage brings what is missing"},
          repair);
  v.field(system::threads_field("files read at a time; default: the CPUs this process may use"), threads);
}

void CacheCheckResult::describe(FieldVisitor& v) {
  v.field({"quick", "only names and sizes were looked at"}, quick);
  v.field({"folders", Unit::count, "staged folders found"}, folders);
  v.field({"files", Unit::count, "files checked"}, files);
  v.field({"bytes", Unit::bytes, "their bytes when they were staged"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "these over wall time; 0 with --quick"}, bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems by which readers miss data or get wrong bytes"}, errors);
  v.field({"warnings", Unit::count, "what may confuse readers, or was not checked"}, warnings);
  v.field({"problems", "the problems by file, at most 10,000"}, problems);
  v.field({"discarded", Unit::count, "damaged files that --repair removed"}, discarded);
  v.field({"remedies", "commands that bring what is missing"}, remedies);
}

}  // namespace shardkit::dataset
