#include "bench/input/input_files.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <numeric>
#include <set>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "catalog/operands.hpp"
#include "catalog/set_listing.hpp"
#include "catalog/set_rules.hpp"
#include "catalog/shard_faults.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/prng.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/manifest.hpp"
#include "formats/shard_index.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/latency_pool.hpp"
#include "system/limits.hpp"

namespace fs = std::filesystem;

namespace shardkit::bench {
namespace {

/// The number of samples by the index of a shard, when it is there and fits.
std::optional<std::uint64_t> indexed_samples(const InputSet& input, const InputFile& shard, Context& context) {
  const std::string path = index_path(shard);
  if (!file_exists(input, path)) return std::nullopt;
  try {
    return catalog::fitting_summary(*open_file(input, path), path, {shard.path, file_name(shard.path), shard.bytes})
        .samples;
  } catch (const Error& error) {
    catalog::warn_of_index(shard.path, error, context);
    return std::nullopt;
  }
}

using NameTest = bool (*)(const std::string&);

/// Tells the shards of a folder from its other files: plain ones if there are any, as every verb takes them, else
/// compressed ones. Null if there are none.
NameTest shards_among(const std::vector<std::string>& names) {
  const NameTest plain = [](const std::string& name) { return name.ends_with(".tar"); };
  const NameTest compressed = [](const std::string& name) { return catalog::is_compressed_tar_name(name); };
  for (const NameTest test : {plain, compressed}) {
    if (std::ranges::any_of(names, test)) return test;
  }
  return nullptr;
}

bool is_local(const std::string& path) { return !catalog::is_address(path); }

std::uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (!error) return bytes;
  std::error_code ignored;
  if (!fs::is_other(path, ignored)) throw system_error(error.value(), "look at", path);
  throw Error(ErrorCode::usage, At{path}, "'{}' is a pipe, socket or device; give files or a folder", path);
}

/// Lists the files of the operands and gets the sizes of files and the samples of shards.
class InputFinder {
 public:
  /// Without `counts_in_stores`, only the sizes of shards in stores are requested.
  InputFinder(Context& context, std::shared_ptr<catalog::Inputs> inputs, bool counts_in_stores,
              const Deadline& deadline = {})
      : context_(context), counts_in_stores_(counts_in_stores), deadline_(deadline) {
    input_.inputs = std::move(inputs);
  }

  InputSet find(const std::vector<std::string>& operands) {
    const auto named = catalog::resolve_operands(operands, *input_.inputs, catalog::Lists::by_content);
    if (!counts_in_stores_) refuse_mixture(named);
    for (const catalog::NamedInput& one : named) add(one);
    measure_files();
    measure_objects();
    if (named.size() > 1) drop_repeated();
    count_samples();
    for (const InputFile& file : input_.files) input_.bytes += file.bytes;
    if (is_over(deadline_)) {
      context_.warn("listing_cut",
                    fmt::format("listing took as long as the budget allows: {} used, and others may exist. Use a "
                                "longer --budget, or give fewer folders",
                                format_count(input_.files.size(), "file")));
    }
    return std::move(input_);
  }

 private:
  /// Bytes of files and bytes of stores are measured in other ways.
  static void refuse_mixture(const std::vector<catalog::NamedInput>& named) {
    const auto is_local = [](const auto& one) { return one.location.kind == catalog::ObjectLocation::Kind::local; };
    if (std::ranges::all_of(named, is_local) || std::ranges::none_of(named, is_local)) return;
    throw usage_error("PATH: some are local and some are URLs; measure them separately");
  }

  void add(const catalog::NamedInput& named) {
    if (!named.location.is_folder()) return add_named_file(named);
    const std::size_t before = input_.files.size();
    switch (named.location.kind) {
      case catalog::ObjectLocation::Kind::local:
        if (!add_set(catalog::look_at(*input_.inputs, named, {}))) add_files_below(named.path);
        break;
      case catalog::ObjectLocation::Kind::bucket:
        add_bucket_folder(named);
        break;
      case catalog::ObjectLocation::Kind::web:  // a few requests, however many shards; they are read in any version
        add_web_folder(named);
        break;
    }
    if (input_.files.size() > before) return;
    throw Error(ErrorCode::not_found, At{named.path}, "folder '{}' contains no files to read", named.path);
  }

  /// Adds the shards of a set, compressed ones only if it has no others; false if it has none itself.
  bool add_set(const catalog::SeenSet& seen) {
    catalog::enforce(catalog::SetVerb::measure, seen, context_);
    bool has_shards = false;
    for (const catalog::GroupMember& member : seen.members) has_shards = add_set(member.seen) || has_shards;
    const std::vector<catalog::Listing::File> shards = seen.shards();
    for (const catalog::Listing::File& shard : shards)
      add_file(io::join_path(seen.folder, shard.name), shard.bytes.value_or(0), true);
    if (!shards.empty() || seen.packed.empty()) return has_shards || !shards.empty();
    for (const std::string& name : seen.packed) {
      const std::string path = io::join_path(seen.folder, name);
      add_file(path, is_local(path) ? 0 : input_.inputs->find(path).value().size, true);
    }
    return true;
  }

  void add_file(const std::string& path, std::uint64_t bytes, bool is_shard) {
    input_.files.push_back({path, bytes, is_shard, is_shard ? std::nullopt : std::optional<std::uint64_t>(1)});
  }

  void add_named_file(const catalog::NamedInput& named) {
    if (!is_local(named.path)) unmeasured_.push_back(input_.files.size());
    const auto ends = [&](std::string_view extension) { return named.path.ends_with(extension); };
    if (named.path == named.named_by && (ends(".txt") || ends(".json") || ends(".csv") || ends(".tsv"))) {
      context_.warn("no_list", fmt::format("'{}' lists no files, so it is measured as data", named.path));
    }
    add_file(named.path, 0, catalog::is_tar_name(file_name(named.path)));
  }

  /// If there are sets or shards at any depth, other files beside them (manifests, lists) are not data.
  void add_files_below(const std::string& folder) {
    const std::vector<std::string> paths = walk_folders({folder}, context_, deadline_).files;
    const NameTest is_shard = shards_among(paths);
    std::set<std::string> folders;
    for (const std::string& path : paths) {
      if ((is_shard != nullptr && is_shard(path)) || file_name(path) == formats::kManifestName)
        folders.insert(io::parent_folder(path));
    }
    folders.erase(folder);  // looked at already
    bool has_shards = false;
    for (const std::string& below : folders) {
      const catalog::NamedInput named{catalog::parse_location(io::join_path(below, "")), below, below};
      has_shards = add_set(catalog::look_at(*input_.inputs, named, {})) || has_shards;
    }
    if (has_shards) return;
    for (const std::string& path : paths) add_file(path, 0, false);
  }

  void add_web_folder(const catalog::NamedInput& named) {
    const catalog::SeenSet seen = catalog::look_at(*input_.inputs, named, {});
    if (seen.as<catalog::Empty>() || seen.as<catalog::Files>())
      input_.inputs->list(named.location);  // reports that there is no listing, and what to do
    add_set(seen);
  }

  /// As add_files_below().
  void add_bucket_folder(const catalog::NamedInput& named) {
    const std::vector<io::ObjectInfo> objects = input_.inputs->list(named.location, true);
    const catalog::SeenSet seen = catalog::look_at(*input_.inputs, named.path, objects);
    if (!seen.as<catalog::Foreign>() && add_set(seen)) return;
    std::vector<std::string> names;
    for (const io::ObjectInfo& object : objects) names.push_back(object.name);
    const NameTest is_shard = shards_among(names);
    for (const io::ObjectInfo& object : objects) {
      const bool is_hidden = object.name.starts_with('.') || object.name.find("/.") != std::string::npos;
      if (is_hidden || (is_shard != nullptr && !is_shard(object.name))) continue;
      add_file(named.path + object.name, object.size, is_shard != nullptr);
    }
  }

  /// In batches: a file's size costs less than handing it to a thread, but for network file systems.
  void measure_files() {
    std::vector<InputFile>& files = input_.files;
    const Deadline deadline = unmeasured_.empty() ? deadline_ : Deadline();
    const std::size_t batch_size = deadline ? 8 : 64;
    if (deadline) input_ = spread(std::move(input_));  // so that the files left out are spread over all
    const auto measure = [&](std::size_t batch) {
      const std::size_t end = std::min((batch + 1) * batch_size, files.size());
      for (std::size_t i = batch * batch_size; i < end; ++i) {
        if (is_local(files[i].path) && files[i].bytes == 0) files[i].bytes = file_bytes(files[i].path);
      }
    };
    const std::size_t done = for_each_file((files.size() + batch_size - 1) / batch_size, context_, measure, deadline);
    if (done * batch_size < files.size()) files.resize(done * batch_size);
  }

  void measure_objects() {
    std::vector<std::string> addresses;
    for (const std::size_t file : unmeasured_) addresses.push_back(input_.files[file].path);
    const auto found = input_.inputs->find_all(addresses);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!found[i]) throw Error(ErrorCode::not_found, At{addresses[i]}, "'{}' does not exist", addresses[i]);
      input_.files[unmeasured_[i]].bytes = found[i]->size;
    }
  }

  /// A file that is named beside its folder is taken once.
  void drop_repeated() {
    std::unordered_set<std::string> seen;
    std::erase_if(input_.files, [&](const InputFile& file) {
      return !seen.insert(is_local(file.path) ? fs::absolute(file.path).lexically_normal().string() : file.path).second;
    });
  }

  void count_samples() {
    std::vector<InputFile*> shards;
    for (InputFile& file : input_.files) {
      if (file.is_shard && (counts_in_stores_ || is_local(file.path))) shards.push_back(&file);
    }
    const auto count = [&](std::size_t i) { shards[i]->samples = indexed_samples(input_, *shards[i], context_); };
    for_each_file(shards.size(), context_, count, deadline_);
  }

  Context& context_;
  const bool counts_in_stores_;
  const Deadline deadline_;
  std::vector<std::size_t> unmeasured_;  ///< objects that were named one by one, in input_.files
  InputSet input_;
};

InputSet find_files(const std::vector<std::string>& operands, Context& context, InputFinder finder) {
  context.progress().start("listing files");
  InputSet input = finder.find(operands);
  for (const std::string& operand : operands) input.operands.push_back(without_secrets(operand));
  if (input.files.empty()) throw usage_error("nothing to read: no PATH was given");
  if (input.bytes == 0) {
    throw Error(ErrorCode::not_found, At{input.files.front().path},
                "nothing to read: {} given and all empty, the first is '{}' (files of /proc and /sys have no size)",
                format_count(input.files.size(), "file"), input.files.front().path);
  }
  return input;
}

struct PendingFolder {
  std::string path;
  std::vector<FolderId> inside_of;  ///< the folders that led here, to notice links that lead back
};

/// Throws Error{unsupported} for a folder of a file system that the kernel generates: its links lead everywhere, and
/// none of its files is stored. Skips folders that cannot be examined.
void refuse_made_up_files(const std::string& folder) {
  struct statfs info {};
  if (::statfs(folder.c_str(), &info) != 0) return;
  if (info.f_type != PROC_SUPER_MAGIC && info.f_type != SYSFS_MAGIC) return;
  throw Error(ErrorCode::unsupported, At{folder},
              "'{}' is on {}, whose files are generated by the kernel; give the folder of the data", folder,
              info.f_type == SYSFS_MAGIC ? "sysfs" : "proc");
}

}  // namespace

std::size_t for_each_file(std::size_t count, Context& context, const std::function<void(std::size_t)>& work,
                          const Deadline& deadline) {
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> done{0};
  sync::LatencyPool workers({.cores = system::usable_threads()}, context.stop_token());
  workers.run([&](sync::WaitMeter& meter, const std::stop_token& stop) {
    if (stop.stop_requested()) return false;
    if (done > 0 && is_over(deadline)) return false;
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

std::string index_path(const InputFile& shard) {
  return io::join_path(io::parent_folder(shard.path), formats::shard_index_path(file_name(shard.path)));
}

std::unique_ptr<ByteSource> open_file(const InputSet& input, const std::string& path) {
  if (catalog::is_address(path)) return input.inputs->open(path);
  return std::make_unique<io::FileSource>(path);
}

bool file_exists(const InputSet& input, const std::string& path) {
  std::error_code closed;
  return catalog::is_address(path) ? input.inputs->exists(path) : fs::exists(path, closed);
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

bool is_compressed(const InputFile& file) {
  return file.is_shard && catalog::is_compressed_tar_name(file_name(file.path));
}

bool has_compressed(std::span<const InputFile> files) { return std::ranges::any_of(files, is_compressed); }

void refuse_compressed(const InputSet& input, std::string_view way) {
  const auto found = std::ranges::find_if(input.files, is_compressed);
  if (found == input.files.end()) return;
  throw Error(ErrorCode::unsupported, At{found->path},
              "'{}' is compressed, so it is unpacked from start to end and cannot be read {}; {} writes plain shards",
              found->path, way, remedy::in_text(remedy::reshard_unread(input.operands)));
}

bool has_only_shards(std::span<const InputFile> files) { return std::ranges::all_of(files, &InputFile::is_shard); }

bool has_objects(std::span<const InputFile> files) {
  return std::ranges::any_of(files, [](const InputFile& file) { return catalog::is_address(file.path); });
}

InputSet find_input(const std::vector<std::string>& operands, Context& context, const catalog::StoreAccess& access,
                    const Deadline& deadline) {
  auto inputs = std::make_shared<catalog::Inputs>(access, context);
  return find_files(operands, context, InputFinder(context, std::move(inputs), true, deadline));
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
  return fmt::format("'{}'{}", first_named(input), is_alone ? "" : " and the other paths");
}

std::vector<std::size_t> spread_order(std::size_t count) {
  constexpr double kGolden = 0.6180339887;  // the fractions of its multiples are never close together
  auto step = static_cast<std::size_t>(kGolden * static_cast<double>(count)) | 1U;
  while (std::gcd(step, count) > 1) step += 2;
  std::vector<std::size_t> order(count);
  for (std::size_t i = 1; i < count; ++i) order[i] = (order[i - 1] + step) % count;
  return order;
}

InputSet spread(InputSet input) {
  Prng prng(0);
  shuffle(std::span(input.files), prng);
  return input;
}

FolderListing walk_folders(const std::vector<std::string>& roots, Context& context, const Deadline& deadline) {
  FolderListing listing;
  std::vector<PendingFolder> pending;
  for (const std::string& root : roots) pending.push_back({root, {}});
  while (!pending.empty() && (listing.files.empty() || !is_over(deadline))) {
    context.throw_if_stopped();
    const PendingFolder folder = std::move(pending.back());
    pending.pop_back();
    const auto begin = std::chrono::steady_clock::now();
    FolderId id;
    std::error_code error;
    const std::vector<FolderEntry> entries = folder_entries(folder.path, error, &id);
    if (error) throw system_error(error.value(), "list", folder.path);
    if (std::ranges::find(folder.inside_of, id) != folder.inside_of.end()) continue;
    if (folder.inside_of.empty() || folder.inside_of.back().first != id.first) refuse_made_up_files(folder.path);
    const std::size_t known = listing.files.size();
    std::vector<PendingFolder> below;
    for (const FolderEntry& entry : entries) {
      if (entry.name.starts_with('.')) continue;
      const unsigned char type = entry.followed_type();
      if (type == DT_REG) listing.files.push_back(entry.path());
      if (type == DT_DIR && !is_made_by_system(entry.name)) below.push_back({entry.path(), folder.inside_of});
    }
    listing.latency.record(std::chrono::steady_clock::now() - begin);
    for (PendingFolder& next : below) {
      next.inside_of.push_back(id);
      pending.push_back(std::move(next));
    }
    context.progress().items.fetch_add(listing.files.size() - known, std::memory_order_relaxed);
  }
  std::ranges::sort(listing.files);
  return listing;
}

}  // namespace shardkit::bench
