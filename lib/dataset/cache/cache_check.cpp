#include "dataset/cache/cache_check.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "catalog/object_set.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/remedies.hpp"
#include "core/units.hpp"
#include "dataset/cache/cache.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "staging/lost_journal.hpp"
#include "staging/node_cache.hpp"
#include "staging/stage_target.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

namespace fs = std::filesystem;

/// One check from found folders to result.
class CacheCheck {
 public:
  CacheCheck(const CacheCheckOptions& options, Context& context)
      : options_(options),
        context_(context),
        threads_(system::thread_count(options.threads)),
        folders_(cache_folders(options.folder, context)) {
    result_.depth = options.depth;
  }

  CacheCheckResult run() {
    const auto start = std::chrono::steady_clock::now();
    look_at_folders();
    if (result_.folders == 0) {
      context_.warn("nothing_staged", "there is no staged folder in '{}', or up to {} levels below it", options_.folder,
                    staging::kDeepestStagedFolder);
    }
    files_ = cache_files(folders_);
    result_.files = files_.size();
    for (const CacheFile& file : files_) result_.bytes += file.staged.bytes;
    context_.progress().start("check", files_.size(), reads_files() ? result_.bytes : 0);
    check_files();
    look_for_strays();
    if (options_.repair) repair();
    advise();
    std::ranges::stable_sort(result_.problems, {}, [](const Problem& problem) { return problem.where.path; });
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (reads_files()) result_.bytes_per_second = static_cast<double>(result_.bytes) / elapsed.count();
    return std::move(result_);
  }

 private:
  bool reads_files() const { return options_.depth == CacheCheckDepth::checksum; }

  void look_at_folders() {
    result_.folders = folders_.size();
    for (const staging::StagedFolder& folder : folders_) {
      for (const staging::LeaseFile& lease : folder.leases) {
        if (!lease.lease) add("bad_lease", Severity::warning, folder.path, staging::describe(lease));
      }
      if (folder.at_work) {
        add("in_progress", Severity::warning, folder.path, "it is being staged or evicted: not checked");
      } else if (folder.state == staging::StagedState::unreadable) {
        add("unreadable", Severity::error, folder.path, folder.fault + ": not checked");
      } else if (!folder.fault.empty()) {
        add("marker_mismatch", Severity::error, folder.path,
            folder.fault + ": files that it does not list cannot be checked");
        to_stage_again_.insert(folder.path);
        damaged_[folder.path];
      } else if (folder.state != staging::StagedState::complete) {
        add("incomplete", Severity::error, folder.path,
            "its marker is missing: its stage failed, was interrupted or will be repeated");
        to_stage_again_.insert(folder.path);
      } else if (folder.marker && !folder.marker->subsets.empty()) {
        add("partial", Severity::warning, folder.path,
            fmt::format("it has only a part of its set: {}", fmt::join(folder.marker->subsets, ", ")));
      }
    }
    std::erase_if(folders_, [](const staging::StagedFolder& folder) {
      return folder.at_work || folder.state == staging::StagedState::unreadable;
    });
  }

  void check_files() {
    sync::for_each_index(files_.size(), threads_, context_.stop_token(), [&](std::size_t at, std::size_t) {
      check_file(files_[at]);
      ++context_.progress().items;
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
      io::FileSource open(io::File::open_regular(file.path()));
      if (const std::uint64_t size = open.size(); size != file.staged.bytes) {
        return found("wrong_size", true, fmt::format("it has {} bytes; {} were staged", size, file.staged.bytes));
      }
      if (!reads_files()) return;
      Xxh3Stream hash;
      open.stream_all([&](Bytes piece) {
        context_.throw_if_stopped();
        hash.update(piece);
        context_.progress().bytes += piece.size();
      });
      if (hash.digest() == file.staged.hash) return;
      found("wrong_bytes", true,
            fmt::format("its XXH3-128 is {}, but {} was staged", to_hex(hash.digest()), to_hex(file.staged.hash)));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::not_found && staging::is_still_coming(file.folder, file.name))
        return add("unfinished", Severity::warning, file.path(), "the stage that copied it was killed");
      if (error.code() == ErrorCode::not_found) return found("missing", false, "it was staged but no longer exists");
      if (error.code() == ErrorCode::corrupt) return found("special_file", true, "it is not a regular file");
      if (error.code() == ErrorCode::cancelled) throw;
      add("unreadable", Severity::error, file.path(), error.what());
    }
  }

  /// Shards that a reader of *.tar would treat as a part of the set.
  void look_for_strays() {
    std::set<std::string> known;
    for (const staging::StagedFolder& folder : folders_) {
      for (const auto& [name, file] : staging::journal_of(folder.path).files)
        known.insert(io::join_path(folder.path, name));
      std::error_code error;  // a folder that went meanwhile has no strays
      for (const auto& entry : fs::directory_iterator(folder.path, error)) {
        const std::string name = entry.path().filename();
        if (name.starts_with('.') || entry.is_directory(error) || known.contains(entry.path())) continue;
        add("stray", Severity::warning, entry.path(), "it was not staged, but readers of this folder may read it");
      }
    }
  }

  void repair() {
    const auto files = io::posix_file_system();
    const system::WallTime now = system::system_clock().now();
    for (auto& [folder, names] : damaged_) {
      context_.throw_if_stopped();
      try {
        if (staging::discard(*files, folder, names, now)) {
          result_.discarded += names.size();
          names.clear();
          continue;
        }
      } catch (const Error& error) {
        if (error.code() != ErrorCode::denied) throw;
        context_.warn("not_repaired", error.what());
        continue;
      }
      const auto use = staging::look_at_staged(folder);
      context_.warn("not_repaired", "{}: its damaged files were not marked",
                    use ? staging::describe_use(*use, now) : folder);
    }
  }

  /// The commands that copy the missing files, in order: a stage treats a file whose size and modification time are
  /// right as complete, so wrong bytes are marked first.
  void advise() {
    for (const staging::StagedFolder& folder : folders_) {
      if (!to_stage_again_.contains(folder.path)) continue;
      if (const auto damaged = damaged_.find(folder.path); damaged != damaged_.end() && !damaged->second.empty()) {
        result_.remedies.push_back(remedy::check_and_repair(folder.path) + comment(folder) + "marks damaged files");
      }
      for (std::string& line : stage_again(folder)) result_.remedies.push_back(std::move(line));
    }
  }

  /// The start of a comment on a command that changes the folder.
  static std::string comment(const staging::StagedFolder& folder) {
    const auto may_write = [&](const char* name) { return ::access((folder.path + "/" + name).c_str(), W_OK) == 0; };
    const bool may_change = may_write(staging::kStateFolderPath) && may_write(staging::kStageLockPath);
    return may_change ? "  # " : "  # as a user who may write there: ";
  }

  /// The commands that stage it again, or a comment that says what is known of them.
  std::vector<std::string> stage_again(const staging::StagedFolder& folder) const {
    const std::string cache = folder.path == options_.folder ? "" : options_.folder;
    const auto line = [&](const remedy::StageWords& words, const char* more) {
      return remedy::stage(words, folder.path, cache) + comment(folder) + "fetches what is missing" + more;
    };
    const std::vector<staging::StagedCommand>& commands = folder.commands;
    if (!commands.empty() && std::ranges::none_of(commands, &std::string::empty, &staging::StagedCommand::sources)) {
      std::vector<std::string> lines;
      for (const auto& command : commands) lines.push_back(line({command.sources, command.options}, ""));
      return lines;
    }
    const bool is_one_source =
        !folder.source.empty() && (!catalog::is_location_of_several(folder.source) || fs::exists(folder.source));
    if (commands.empty() && is_one_source && folder.marker && folder.marker->subsets.empty()) {
      const bool by_size = folder.marker->verified == staging::Verified::size;
      return {line(remedy::whole_source(folder.source, by_size), "; add the options of its first stage")};
    }
    return {fmt::format("# run the command again that staged {}: {} of {}", shell_word(folder.path), asked(folder),
                        folder.source.empty() ? "SRC" : shell_word(folder.source))};
  }

  /// The files that the folder should have, in words.
  static std::string asked(const staging::StagedFolder& folder) {
    if (folder.marker && !folder.marker->subsets.empty())
      return fmt::to_string(fmt::join(folder.marker->subsets, ", "));
    if (folder.commands.empty()) return folder.marker ? "all" : "all or a part";
    return folder.commands.front().is_whole ? "all" : "a part";
  }

  void add(std::string code, Severity severity, const std::string& path, std::string text) {
    const std::scoped_lock lock(mutex_);
    ++result_.problems_total;
    ++(severity == Severity::error ? result_.errors : result_.warnings);
    if (result_.problems.size() == CacheCheckResult::kMostProblems) return;
    const std::string relative = fs::path(path).lexically_relative(options_.folder);
    result_.problems.push_back({{std::move(code), std::move(text), severity, {relative}}});
  }

  const CacheCheckOptions& options_;
  Context& context_;
  const unsigned threads_;
  std::vector<staging::StagedFolder> folders_;
  std::vector<CacheFile> files_;
  std::mutex mutex_;  ///< of the following files
  CacheCheckResult result_;
  std::map<std::string, std::vector<std::string>> damaged_;  ///< names to remove, by folder that is not whole
  std::set<std::string> to_stage_again_;
};

}  // namespace

CacheCheckResult cache_check(const CacheCheckOptions& options, Context& context) {
  return CacheCheck(options, context).run();
}

void CacheCheckOptions::describe(FieldList& v) {
  v.field(kCacheFolder, folder);
  v.field({"depth", "what to check: names and sizes, without reading; or also every byte", Misnomers{"quick"}}, depth);
  v.field(
      {"repair",
       "mark damaged files, and remove the marker of incomplete folders, so that the next stage fetches them again; "
       "without a lease, damaged files are also removed"},
      repair);
  v.field(system::threads_field("files read in parallel; default: CPUs available to the process"), threads);
}

void CacheCheckResult::describe(FieldList& v) {
  v.field({"depth", "what was checked: names and sizes, or also every byte"}, depth);
  v.field({"folders", Unit::count, "staged folders found"}, folders);
  v.field({"files", Unit::count, "files checked"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files when staged"}, bytes);
  v.field({"bytes_per_second", Unit::bytes_per_second, "these bytes divided by time; 0 with depth structure"},
          bytes_per_second);
  v.field({"problems_total", Unit::count, "problems found, errors and warnings"}, problems_total);
  v.field({"errors", Unit::count, "problems because of which readers miss data or get wrong bytes"}, errors);
  v.field({"warnings", Unit::count, "things that may confuse readers, or that were not checked"}, warnings);
  v.field({"problems", "problems by file, at most 10,000"}, problems);
  v.field({"discarded", Unit::count, "damaged files that --repair marked"}, discarded);
  v.field({"remedies", "commands that fetch what is missing"}, remedies);
}

}  // namespace shardkit::dataset
