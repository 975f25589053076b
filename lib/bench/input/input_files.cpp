#include "bench/input/input_files.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "catalog/operands.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/prng.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "formats/wids_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/adaptive_workers.hpp"
#include "system/limits.hpp"

namespace fs = std::filesystem;

namespace shardkit::bench {

std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const std::optional<std::chrono::steady_clock::time_point>& deadline) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  sync::AdaptiveWorkers workers({.cores = system::usable_threads()}, context.stop_token());
  workers.run([&](sync::WaitMeter& meter, const std::stop_token& stop) {
    if (stop.stop_requested()) return false;
    if (deadline && done > 0 && std::chrono::steady_clock::now() >= *deadline) return false;
    const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
    if (index >= count) return false;
    const sync::WaitMeter::Scope waiting(meter);
    work(index);
    done.fetch_add(1, std::memory_order_relaxed);
    return true;
  });
  context.throw_if_stopped();
  return done;
}

namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// By its own name, not that of a folder above it.
bool is_tar_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".tar") || name.ends_with(".tgz") || name.find(".tar.") != std::string::npos;
}

bool holds_shards(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator item(folder, error);
  if (error) throw system_error(error.value(), "list", folder);
  return std::any_of(fs::begin(item), fs::end(item), [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".tar" && !is_hidden(entry.path());
  });
}

/// The first 64 KiB of a text at most, up to the end of the first line that is not empty.
std::string first_line(const std::string& path) {
  std::string text(64U << 10U, '\0');
  text.resize(io::File::open_read(path).read_at(0, std::as_writable_bytes(std::span(text))));
  const std::size_t begin = std::min(text.find_first_not_of("\r\n"), text.size());
  return text.substr(begin, text.find_first_of("\r\n", begin) - begin);
}

/// True for a text whose first line names a shard: captions and labels are .txt too.
bool is_shard_list(const std::string& path) {
  const std::string line = first_line(path);
  return is_tar_name(line) || line.find("://") != std::string::npos;
}

/// True for a wids index; an index of shards is small, what is larger is data.
bool is_shard_index(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = 64U << 20U;
  return fs::file_size(path) <= kMostBytes && formats::is_wids_index(io::read_text_file(path));
}

/// True for what resolve_shards() takes: not there under this name (a pattern or URL), a tar, or a list of tars.
bool names_shards(const std::string& operand, const fs::file_status& status) {
  if (fs::is_directory(status)) return holds_shards(operand);
  if (!fs::is_regular_file(status)) return !fs::exists(status);
  if (operand.ends_with(".txt")) return is_shard_list(operand);
  if (operand.ends_with(".json")) return is_shard_index(operand);
  return is_tar_name(operand);
}

/// The index of a shard when it is there and speaks of a file of this size.
std::optional<formats::ShardSummary> index_summary(const InputSet& input, const InputFile& shard) {
  const std::string path = index_path(shard);
  if (!file_exists(input, path)) return std::nullopt;
  const formats::ShardSummary summary = formats::read_shard_summary(*open_file(input, path), path);
  if (summary.bytes != shard.bytes) return std::nullopt;
  return summary;
}

std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) throw system_error(error.value(), "look at", path);
  return bytes;
}

class InputFinder {
 public:
  /// Without `counts_samples` nothing is asked of shards but their sizes.
  InputFinder(Context& context, std::shared_ptr<catalog::Inputs> inputs, bool counts_samples)
      : context_(context), counts_samples_(counts_samples) {
    input_.inputs = std::move(inputs);
  }

  void add(const std::string& operand) {
    if (lies_in_store(operand)) return add_objects(operand);
    std::error_code error;
    const fs::file_status status = fs::status(operand, error);
    if (names_shards(operand, status)) {
      shard_operands_.push_back(operand);
    } else if (fs::is_directory(status)) {
      add_folder(operand);
    } else if (fs::is_regular_file(status)) {
      input_.files.push_back({operand, 0, false, 1});
    } else {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' is a pipe, socket or device; name files, shards or a folder of them", operand),
                  operand);
    }
  }

  InputSet take() {
    measure_files();
    measure_objects();
    if (!shard_operands_.empty()) {
      add_shards(catalog::resolve_shards(shard_operands_, catalog::FolderTars::plain, input_.inputs));
    }
    for (const InputFile& file : input_.files) input_.bytes += file.bytes;
    return std::move(input_);
  }

 private:
  void add_objects(const std::string& operand) {
    for (const catalog::NamedInput& named : catalog::resolve_operands({operand}, *input_.inputs)) {
      if (!named.place.is_folder()) {
        objects_.push_back(named.path);
      } else if (named.place.kind == catalog::ObjectLocation::Kind::bucket) {
        add_bucket_folder(named);
      } else if (counts_samples_) {
        shard_operands_.push_back(operand);
      } else {
        add_by_manifest(named);
      }
    }
  }

  /// One request, however many shards it lists. They are read in any version.
  void add_by_manifest(const catalog::NamedInput& named) {
    const std::string folder = named.path.substr(0, named.path.find("?..."));
    const std::string path = folder + formats::kManifestName;
    if (!input_.inputs->exists(path))
      input_.inputs->list(named.place);  // says that there is no listing, and what to do
    for (const formats::ManifestShard& shard : formats::read_manifest(input_.inputs->text(path), path).shards) {
      input_.files.push_back({folder + shard.name, shard.bytes, true, {}});
    }
  }

  void add_object(const std::string& address, std::uint64_t bytes, bool is_shard) {
    input_.files.push_back({address, bytes, is_shard, is_shard ? std::nullopt : std::optional<std::uint64_t>(1)});
  }

  /// As add_folder().
  void add_bucket_folder(const catalog::NamedInput& named) {
    std::vector<io::ObjectInfo> objects = input_.inputs->list(named.place, true);
    const auto is_shard = [](const io::ObjectInfo& object) { return object.name.ends_with(".tar"); };
    const bool has_shards = std::ranges::any_of(objects, is_shard);
    for (const io::ObjectInfo& object : objects) {
      const bool is_hidden = object.name.starts_with('.') || object.name.find("/.") != std::string::npos;
      if (is_hidden || has_shards != is_shard(object)) continue;
      add_object(named.path + object.name, object.size, has_shards);
    }
    if (!objects.empty()) return;
    throw Error(ErrorCode::not_found, fmt::format("folder '{}' holds no files to read", named.path), named.path);
  }

  void measure_objects() {
    const auto found = input_.inputs->find_all(objects_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string& path = objects_[i];
      if (!found[i]) throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", path), path);
      add_object(path, found[i]->size, is_tar_name(file_name(path)));
    }
  }

  /// Where there are shards at any depth, what lies beside them (manifests, lists) is no data.
  void add_folder(const std::string& folder) {
    const std::vector<std::string> paths = walk_folders({folder}, context_).files;
    const std::size_t shards = shard_operands_.size();
    std::ranges::copy_if(paths, std::back_inserter(shard_operands_),
                         [](const std::string& path) { return path.ends_with(".tar"); });
    if (shard_operands_.size() > shards) return;
    if (paths.empty()) {
      throw Error(ErrorCode::not_found, fmt::format("folder '{}' holds no files to read", folder), folder);
    }
    for (const std::string& path : paths) input_.files.push_back({path, 0, false, 1});
  }

  /// In batches: a file's size costs less than handing it to a thread, but for network file systems.
  void measure_files() {
    constexpr std::size_t kBatch = 64;
    std::vector<InputFile>& files = input_.files;
    for_each_file((files.size() + kBatch - 1) / kBatch, context_, [&](std::size_t batch) {
      const std::size_t end = std::min((batch + 1) * kBatch, files.size());
      for (std::size_t i = batch * kBatch; i < end; ++i) {
        if (!catalog::is_address(files[i].path)) files[i].bytes = file_bytes(files[i].path);
      }
    });
  }

  void add_shards(const catalog::ShardSet& set) {
    const std::size_t first = input_.files.size();
    for (const catalog::ShardFile& shard : set.shards) input_.files.push_back({shard.path, shard.bytes, true, {}});
    for_each_file(set.shards.size(), context_, [&](std::size_t i) {
      InputFile& file = input_.files[first + i];
      if (const auto summary = index_summary(input_, file)) file.samples = summary->samples;
    });
  }

  Context& context_;
  const bool counts_samples_;
  std::vector<std::string> shard_operands_;
  std::vector<std::string> objects_;
  InputSet input_;
};

}  // namespace

std::string index_path(const InputFile& shard) {
  return io::join_path(io::parent_folder(shard.path), formats::shard_index_path(file_name(shard.path)));
}

bool lies_in_store(const std::string& operand) {
  if (catalog::is_address(operand)) return true;
  if (!fs::is_regular_file(operand)) return false;
  if (operand.ends_with(".txt")) return catalog::is_address(first_line(operand));
  if (operand.ends_with(".json") && is_shard_index(operand)) {
    return catalog::is_address(catalog::wids_shards(io::read_text_file(operand), operand).front());
  }
  return false;
}

std::unique_ptr<ByteSource> open_file(const InputSet& input, const std::string& path) {
  if (catalog::is_address(path)) return input.inputs->open(path);
  return std::make_unique<io::FileSource>(path);
}

bool file_exists(const InputSet& input, const std::string& path) {
  return catalog::is_address(path) ? input.inputs->exists(path) : fs::exists(path);
}

std::string file_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return catalog::is_address(path) ? name.substr(0, name.find("?...")) : name;
}

std::optional<std::uint64_t> samples_of(std::span<const InputFile> files) {
  std::uint64_t samples = 0;
  for (const InputFile& file : files) {
    if (!file.samples) return std::nullopt;
    samples += *file.samples;
  }
  return samples;
}

bool has_objects(std::span<const InputFile> files) {
  return std::ranges::any_of(files, [](const InputFile& file) { return catalog::is_address(file.path); });
}

namespace {

InputSet find_files(const std::vector<std::string>& operands, Context& context, InputFinder finder) {
  context.progress().start("listing files");
  for (const std::string& operand : operands) finder.add(operand);
  InputSet input = finder.take();
  for (const std::string& operand : operands) input.operands.push_back(without_secrets(operand));
  if (input.files.empty()) throw Error(ErrorCode::usage, "nothing to read was named");
  if (input.bytes == 0) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("nothing to read: {} named and all empty, the first is '{}' (files of /proc and /sys have no size)",
                    format_count(input.files.size(), "file"), input.files.front().path),
        input.files.front().path);
  }
  return input;
}

}  // namespace

InputSet find_input(const std::vector<std::string>& operands, Context& context, const catalog::StoreAccess& access) {
  auto inputs = std::make_shared<catalog::Inputs>(access, context.stop_token());
  return find_files(operands, context, InputFinder(context, std::move(inputs), true));
}

InputSet find_objects(const std::vector<std::string>& operands, Context& context,
                      std::shared_ptr<catalog::Inputs> inputs) {
  return find_files(operands, context, InputFinder(context, std::move(inputs), false));
}

const std::string& first_named(const InputSet& input) {
  return input.operands.empty() ? input.files.front().path : input.operands.front();
}

std::string named_text(const InputSet& input) {
  const bool is_alone = (input.operands.empty() ? input.files.size() : input.operands.size()) == 1;
  return fmt::format("'{}'{}", first_named(input), is_alone ? "" : " and what was named beside it");
}

InputSet spread(InputSet input) {
  Prng prng(0);
  shuffle(std::span(input.files), prng);
  return input;
}

}  // namespace shardkit::bench
