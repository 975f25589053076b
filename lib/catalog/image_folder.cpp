#include "catalog/image_folder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include "catalog/tree_meaning.hpp"
#include "core/error.hpp"
#include "core/folder.hpp"
#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "core/text.hpp"
#include "formats/image_names.hpp"
#include "formats/sample_name.hpp"
#include "formats/tar_header.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/latency_pool.hpp"
#include "system/limits.hpp"

namespace shardkit::catalog {
namespace {

constexpr std::array<std::string_view, 2> kUsualSidecars = {".json", ".txt"};

/// Side-cars looked for beside each image: the usual ones unless a declared field has their name, and the requested.
std::vector<std::string> sidecar_suffixes(const ScanOptions& options) {
  std::vector<std::string> suffixes;
  for (const std::string_view usual : kUsualSidecars) {
    if (std::ranges::find(options.fields, usual.substr(1), &FieldTemplate::name) == options.fields.end())
      suffixes.emplace_back(usual);
  }
  suffixes.insert(suffixes.end(), options.sidecars.begin(), options.sidecars.end());
  return suffixes;
}

/// A folder's identity, to notice when a link leads back to a folder that we are already inside of.
using FolderId = std::pair<dev_t, ino_t>;

FolderId folder_id(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) throw system_error(errno, "list", folder);
  return {info.st_dev, info.st_ino};
}

/// Files of a class by folder (relative to the class), both sorted: the order of torchvision's sorted(os.walk()). Their
/// names are without the folder.
using FilesByFolder = std::map<std::string, std::vector<io::ObjectInfo>>;

/// Collects a local class folder and those below it. Sizes and times are not looked at.
class ClassWalker {
 public:
  ClassWalker(std::string class_path, Context& context) : class_path_(std::move(class_path)), context_(context) {}

  /// `below`: also the folders in it.
  void walk(const std::string& relative, bool below = true) {
    const std::string path = relative.empty() ? class_path_ : io::join_path(class_path_, relative);
    const FolderId id = folder_id(path);
    const auto same = std::ranges::find(inside_, id);
    if (same != inside_.end()) refuse_loop(relative, static_cast<std::size_t>(same - inside_.begin()));
    inside_.push_back(id);
    for (ListedEntry& entry : list_folder(path)) {
      if (entry.kind == EntryKind::file) {
        files_[relative].push_back({std::move(entry.name), 0, {}});
      } else if (!below) {
        continue;
      } else if (is_hidden_or_system(entry.name)) {
        warn_of_system_folder(context_, io::join_path(path, entry.name), "would look for images in it");
      } else {
        walk(io::join_path(relative, entry.name));
      }
    }
    inside_.pop_back();
  }

  FilesByFolder take() { return std::move(files_); }

 private:
  /// The folder at `relative` is the one `depth` folders down on the way to it. The first link behind that one leads
  /// back; the folder may be a real one behind it, which must not be named as a link.
  [[noreturn]] void refuse_loop(const std::string& relative, std::size_t depth) const {
    std::filesystem::path link = class_path_;
    for (const auto& part : std::filesystem::path(relative)) {
      link /= part;
      if (depth > 0) {
        --depth;
      } else if (std::filesystem::is_symlink(link)) {
        break;
      }
    }
    std::error_code error;  // without a link it is a mount
    const std::string target = std::filesystem::read_symlink(link, error);
    throw Error(ErrorCode::conflict, At{link.string()},
                "'{}'{} leads back into a folder that contains it, so the files in it would be found again and again",
                link.string(), error ? "" : fmt::format(", a link to '{}',", target));
  }

  std::string class_path_;
  Context& context_;
  std::vector<FolderId> inside_;
  FilesByFolder files_;
};

/// The first system folder on the way to a file; empty when there is none.
std::string system_part(const std::string& folder) {
  for (std::size_t begin = 0; begin < folder.size();) {
    const std::size_t end = std::min(folder.find('/', begin), folder.size());
    if (is_hidden_or_system(std::string_view(folder).substr(begin, end - begin))) return folder.substr(0, end);
    begin = end + 1;
  }
  return {};
}

/// The files of a class in a store, with sizes and versions.
FilesByFolder list_stored_class(const SourceFolder& source, const std::string& name, Context& context) {
  std::vector<io::ObjectInfo> objects = source.store->list(name);
  std::vector<std::string> names;
  for (const io::ObjectInfo& object : objects) names.push_back(object.name);
  check_names(names, source.path_of(name));
  FilesByFolder files;
  std::set<std::string> hidden;
  for (io::ObjectInfo& object : objects) {
    const std::size_t below = name.empty() ? 0 : name.size() + 1;
    const std::size_t file = object.name.rfind('/') + 1;  // npos + 1 is 0
    const std::string folder = file > below ? object.name.substr(below, file - below - 1) : "";
    const std::string skipped = system_part(folder);
    if (skipped.empty()) {
      object.name.erase(0, file);
      files[folder].push_back(std::move(object));
    } else if (hidden.insert(skipped).second) {
      warn_of_system_folder(context, source.path_of(io::join_path(name, skipped)), "would look for images in it");
    }
  }
  return files;
}

/// Adds the images of one folder with their side-cars, and counts the files that are neither. A file with the ending of
/// a requested side-car is not an image of its own.
void add_folder(ScannedClass& item, const std::string& folder, const std::vector<io::ObjectInfo>& found,
                const SourceFolder& source, const ScanOptions& options, IgnoredFiles& ignored) {
  const std::vector<std::string> suffixes = sidecar_suffixes(options);
  const auto is_sidecar = [&](std::string_view name) {
    return std::ranges::any_of(options.sidecars, [&](const std::string& suffix) { return name.ends_with(suffix); });
  };
  const auto scanned = [&](const io::ObjectInfo& object) {
    ScannedFile file{0, 0, item.add_name(io::join_path(folder, object.name))};
    if (source.store) item.note(file, object);
    return file;
  };
  std::vector<bool> taken(found.size());
  for (const io::ObjectInfo& object : found) {
    if (!options.is_primary(object.name) || is_sidecar(object.name) || object.name.starts_with(kAppleDouble)) continue;
    taken[static_cast<std::size_t>(&object - found.data())] = true;
    const auto image = static_cast<std::uint32_t>(item.files.size());
    item.files.push_back(scanned(object));
    const std::string_view stem = formats::split_extension(object.name).stem;
    for (std::uint16_t field = 0; field < suffixes.size(); ++field) {
      const std::string beside = std::string(stem).append(suffixes[field]);
      const auto at = std::ranges::lower_bound(found, beside, {}, &io::ObjectInfo::name);
      if (at == found.end() || at->name != beside || at->name == object.name) continue;
      item.members.push_back({image, field, false, {}, scanned(*at)});
      taken[static_cast<std::size_t>(at - found.begin())] = true;
    }
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!taken[i]) count_ignored(ignored, io::join_path(item.folder, io::join_path(folder, found[i].name)));
  }
}

/// Puts in the files of a folder of the scan that the source is known to have, or was known to have when its plan was
/// made; without `below` those right in it.
void add_known(const FileStates& known, const std::string& scan_folder, bool below, FilesByFolder& files) {
  const std::string start = scan_folder.empty() ? std::string() : scan_folder + '/';
  for (auto file = known.lower_bound(start); file != known.end() && file->first.starts_with(start); ++file) {
    const std::size_t slash = file->first.rfind('/') + 1;
    if (file->first.starts_with("../") || (!below && slash > start.size())) continue;
    std::vector<io::ObjectInfo>& found =
        files[slash == start.size() ? std::string() : file->first.substr(start.size(), slash - start.size() - 1)];
    add_known_file(file->first.substr(slash), file->second, found);
  }
}

/// Fills names, files and side-cars of one class, for a local one without sizes and times; returns the ignored files.
IgnoredFiles list_class(const SourceFolder& source, ScannedClass& item, const ScanOptions& options, Context& context) {
  FilesByFolder files;
  const bool below = source.store || !item.folder.empty();
  if (source.store) {
    files = list_stored_class(source, item.folder, context);
  } else {
    ClassWalker walker(source.path_of(item.folder), context);
    walker.walk("", below);
    files = walker.take();
  }
  add_known(source.known, item.folder, below, files);
  IgnoredFiles ignored;
  for (const auto& [folder, found] : files) add_folder(item, folder, found, source, options, ignored);
  item.names.shrink_to_fit();
  item.versions.shrink_to_fit();
  item.files.shrink_to_fit();
  return ignored;
}

/// Lists the classes, several at once.
void list_classes(const SourceFolder& source, const ScanOptions& options, Context& context, ImageFolderScan& scan) {
  std::mutex mutex;
  for_each_waiting(scan.classes.size(), options.cores, context, [&](std::size_t at) {
    const IgnoredFiles ignored = list_class(source, scan.classes[at], options, context);
    const std::scoped_lock lock(mutex);
    scan.ignored.merge(ignored);
  });
}

/// What a source without images should contain, or what to do with the shards that it contains.
std::string advice_for(const SourceFolder& source, const ImageFolderScan& scan) {
  if (!scan.ignored.kinds.contains(".tar")) {
    return fmt::format("expected {}/<class>/<image>.jpg; for images without labels use --unlabeled", source.path);
  }
  const remedy::Named shards = {source.path};
  const bool may_have_manifest = scan.ignored.kinds.contains(".json");
  return fmt::format(
      "its .tar files seem to be shards, which need no convert: {} checks them{}, and {} writes them again",
      remedy::in_text(remedy::verify(shards)),
      may_have_manifest ? "" : fmt::format(", {} creates their manifest", remedy::in_text(remedy::index(shards))),
      remedy::in_text(remedy::reshard(shards)));
}

/// The folders of the scan: classes, or without labels those right in the source, and that itself for the files there.
void add_classes(const SourceFolder& source, const ScanOptions& options, Context& context, ImageFolderScan& scan) {
  scan.listed = options.unlabeled;
  if (options.unlabeled && source.store) {
    scan.classes.emplace_back();
    return;
  }
  IgnoredFiles in_source;
  std::vector<std::string> folders = class_folders(source, "", context, options.unlabeled ? in_source : scan.ignored);
  if (folders.empty() && !options.unlabeled) {
    throw Error(ErrorCode::not_found, At{source.path}, "'{}' has no class folders: {}", source.path,
                advice_for(source, scan));
  }
  if (options.unlabeled) scan.classes.emplace_back();
  for (std::string& name : folders) {
    ScannedClass& item = scan.classes.emplace_back();
    item.folder = name;
    if (!options.unlabeled) item.name = std::move(name);
  }
}

void check_classes(const ImageFolderScan& scan, const SourceFolder& source, const ScanOptions& options) {
  if (scan.images() == 0 && scan.problems.empty()) {
    std::vector<std::string_view> found;
    for (const auto& [kind, files] : scan.ignored.kinds) found.push_back(kind);
    const std::string kinds = found.empty() ? "" : fmt::format("; found {}", fmt::join(found, ", "));
    throw Error(ErrorCode::not_found,
                !options.primary.empty() ? fmt::format("no file below '{}' has an extension of --primary ({}){}",
                                                       source.path, fmt::join(options.primary, ", "), kinds)
                : scan.listed || (!found.empty() && !scan.ignored.kinds.contains(".tar"))
                    ? fmt::format("no images below '{}'{}; --primary names other extensions that start a sample",
                                  source.path, kinds)
                    : fmt::format("no images below '{}': {}", source.path, advice_for(source, scan)),
                source.path);
  }
  for (const ScannedClass& item : scan.classes) {
    if (!item.files.empty() || options.allow_empty) continue;
    refuse_class_without_images(source, scan, item.name, options.set);
  }
}

/// Files whose metadata one worker asks for at a time: enough to share one open folder, few enough to spread a class.
constexpr std::size_t kBatch = 32;

/// The folder, its listing, and the wait meter's.
constexpr unsigned kDescriptorsPerRead = 3;

/// One batch of files of one class whose metadata is to be read.
struct StatBatch {
  ScannedClass* owner = nullptr;
  std::size_t begin = 0;  ///< files that start samples first, then their other members
  std::size_t end = 0;
};

std::vector<StatBatch> batches_of(std::vector<ScannedClass>& classes) {
  std::vector<StatBatch> batches;
  for (ScannedClass& owner : classes) {
    const std::size_t count = owner.files.size() + owner.members.size();
    for (std::size_t begin = 0; begin < count; begin += kBatch) {
      batches.push_back({&owner, begin, std::min(begin + kBatch, count)});
    }
  }
  return batches;
}

/// Marks a file that cannot be read; removed from its class when all are known.
constexpr std::int64_t kUnreadable = INT64_MIN;

class MetadataReader {
 public:
  MetadataReader(const SourceFolder& source, ImageFolderScan& scan, Context& context)
      : source_(source),
        scan_(scan),
        context_(context),
        root_(source.store ? io::File() : io::File::open_read(source.path, O_DIRECTORY)) {}

  void run(unsigned cores) {
    const std::vector<StatBatch> batches = batches_of(scan_.classes);
    for_each_waiting(batches.size(), cores, context_, [&](std::size_t at) {
      read(batches[at]);
      context_.progress().items += batches[at].end - batches[at].begin;
    });
  }

 private:
  void read(const StatBatch& batch) {
    ScannedClass& owner = *batch.owner;
    io::File folder;
    if (!source_.store) folder = io::File::open_read(source_.path_of(owner.folder), O_DIRECTORY);
    for (std::size_t i = batch.begin; i < batch.end; ++i) {
      const std::size_t images = owner.files.size();
      const bool is_image = i < images;
      ScannedFile& file = is_image ? owner.files[i] : owner.members[i - images].file;
      const bool optional = !is_image && owner.members[i - images].maybe;
      if (!source_.known.empty() && take_known(owner, file)) continue;
      if (source_.store) {
        look_up(owner, file, optional);
      } else {
        read(folder, owner, file, optional);
      }
    }
  }

  bool take_known(ScannedClass& owner, ScannedFile& file) {
    const std::string path = owner.path_of(file);
    const auto known = source_.known.find(path);
    if (known == source_.known.end()) return false;
    const FileState& state = known->second;
    file.size = state.size;
    file.mtime_ns = state.mtime_ns;
    if (!state.version) return true;
    const std::scoped_lock lock(mutex_);
    owner.note(file, {path, state.size, *state.version});
    return true;
  }

  void look_up(ScannedClass& owner, ScannedFile& file, bool optional) {
    const std::string name = owner.path_of(file);
    const std::optional<io::ObjectInfo> object = source_.store->find(name);
    if (object) {
      const std::scoped_lock lock(mutex_);
      owner.note(file, *object);
    } else if (optional) {
      file.mtime_ns = kUnreadable;
    } else {
      const std::string address = source_.path_of(name);
      add_problem(owner, file, Error(ErrorCode::not_found, At{address}, Fault{"does not exist"}));
    }
  }

  void read(const io::File& folder, const ScannedClass& owner, ScannedFile& file, bool optional) {
    const char* name = owner.names.data() + file.name_offset;
    const bool of_source = *name == '/';
    const io::File& start = of_source ? root_ : folder;
    name += of_source ? 1 : 0;
    struct stat info {};
    const bool is_outside = std::string_view(name).starts_with(kParent);
    if ((is_outside ? ::stat(source_.opened_path(name).c_str(), &info) : ::fstatat(start.fd(), name, &info, 0)) != 0) {
      if (optional && errno == ENOENT) {
        file.mtime_ns = kUnreadable;
      } else {
        add_problem(owner, file, system_error(errno, "read", io::join_path(start.path(), name)));
      }
    } else if (!S_ISREG(info.st_mode)) {
      const std::string path = io::join_path(start.path(), name);
      add_problem(owner, file, Error(ErrorCode::corrupt, At{path}, Fault{"is not a regular file"}));
    } else {
      file.size = static_cast<std::uint64_t>(info.st_size);
      file.mtime_ns = io::mtime_ns(info);
    }
  }

  void add_problem(const ScannedClass& owner, ScannedFile& file, Error error) {
    if (!is_bad_file(error.code())) throw Error(error);
    file.mtime_ns = kUnreadable;
    const std::scoped_lock lock(mutex_);
    const std::string path = owner.path_of(file);
    scan_.problems.push_back({path, std::move(error), {path}});
  }

  const SourceFolder& source_;
  ImageFolderScan& scan_;
  Context& context_;
  const io::File root_;  ///< of a local source
  std::mutex mutex_;
};

/// Drops the files that could not be read, and members of images that were dropped.
void drop_unreadable(ScannedClass& owner) {
  std::vector<std::uint32_t> new_index(owner.files.size());
  std::uint32_t kept = 0;
  for (std::size_t i = 0; i < owner.files.size(); ++i) {
    new_index[i] = kept;
    if (owner.files[i].mtime_ns != kUnreadable) owner.files[kept++] = owner.files[i];
  }
  std::erase_if(owner.members, [&](const ScannedMember& member) {
    const std::uint32_t at = new_index[member.image];
    const std::uint32_t after = member.image + 1 < new_index.size() ? new_index[member.image + 1] : kept;
    return at == after || member.file.mtime_ns == kUnreadable;
  });
  for (ScannedMember& member : owner.members) member.image = new_index[member.image];
  owner.files.resize(kept);
}

void drop_unreadable(ImageFolderScan& scan) {
  for (ScannedClass& item : scan.classes) drop_unreadable(item);
  std::ranges::sort(scan.problems, {}, &ScanProblem::path);
}

/// A sample with a file that no header of a portable tar can describe is a bad one, whole.
void mark_large(const SourceFolder& source, ImageFolderScan& scan) {
  const auto mark_if_large = [&](ScannedClass& owner, ScannedFile& image, const ScannedFile& file) {
    if (file.size < formats::kTarSizeLimit || image.mtime_ns == kUnreadable) return;
    const std::string path = source.path_of(owner.path_of(file));
    const Fault fault{fmt::format("has {} bytes; members of portable shards must be smaller than 8 GiB", file.size)};
    const Error error(ErrorCode::corrupt, At{path}, fault);
    scan.problems.push_back({owner.path_of(image), error});
    image.mtime_ns = kUnreadable;
  };
  for (ScannedClass& owner : scan.classes) {
    for (ScannedFile& file : owner.files) mark_if_large(owner, file, file);
    for (const ScannedMember& member : owner.members) mark_if_large(owner, owner.files[member.image], member.file);
  }
}

}  // namespace

std::uint64_t ImageFolderScan::images() const {
  std::uint64_t count = 0;
  for (const ScannedClass& item : classes) count += item.files.size();
  return count;
}

bool ImageFolderScan::labeled() const {
  return std::ranges::any_of(classes, [](const ScannedClass& item) { return !item.name.empty(); });
}

std::string ImageFolderScan::member_name(const ScannedMember& member) const {
  const std::string& name = fields[member.field].name;
  return member.number ? numbered_field(name, *member.number) : name;
}

void ImageFolderScan::add_sidecar_fields(const std::vector<std::string>& suffixes) {
  for (const std::string& suffix : suffixes) {
    std::string name = formats::portable_extension(suffix);
    const bool implied = suffix == '.' + name;
    fields.push_back({std::move(name), false, true, implied});
  }
}

bool ScanOptions::is_primary(std::string_view name) const {
  if (primary.empty()) return is_image_name(name);
  return std::ranges::find(primary, lower_case(formats::split_extension(name).extension)) != primary.end();
}

std::optional<std::string> ScannedClass::version_of(const ScannedFile& file) const {
  if (versions.empty()) return std::nullopt;
  return versions.data() + file.mtime_ns;
}

FileState ScannedClass::state_of(const ScannedFile& file) const {
  std::optional<std::string> version = version_of(file);
  return {file.size, version ? 0 : file.mtime_ns, std::move(version)};
}

void ScannedClass::note(ScannedFile& file, const io::ObjectInfo& object) {
  file.size = object.size;
  file.mtime_ns = static_cast<std::int64_t>(versions.size());
  versions.append(object.version).push_back('\0');
}

std::string ScannedClass::path_of(const ScannedFile& file) const {
  const std::string_view path = name_of(file);
  return path.starts_with('/') ? std::string(path.substr(1)) : io::join_path(folder, path);
}

std::uint32_t ScannedClass::add_name(std::string_view path) {
  if (names.size() > std::numeric_limits<std::uint32_t>::max() - 8192) {
    throw Error(ErrorCode::unsupported, At{name}, "class '{}' has more than 4 GiB of file names; split it into several",
                name);
  }
  const auto offset = static_cast<std::uint32_t>(names.size());
  names += path;
  names += '\0';
  return offset;
}

std::vector<std::optional<std::uint64_t>> labels_by_position(const ImageFolderScan& scan) {
  std::vector<std::optional<std::uint64_t>> labels;
  std::uint64_t position = 0;
  for (const ScannedClass& item : scan.classes) {
    labels.push_back(item.name.empty() ? std::nullopt : std::optional(item.label.value_or(position)));
    position += item.name.empty() ? 0 : 1;
  }
  return labels;
}

bool is_image_name(std::string_view name) {
  return name.find('.') != std::string_view::npos &&
         formats::is_image_extension(formats::split_extension(name).extension);
}

ImageFolderScan scan_image_folder(const SourceFolder& source, const ScanOptions& options, Context& context) {
  ImageFolderScan scan;
  context.progress().start("scan");
  add_classes(source, options, context, scan);
  scan.add_sidecar_fields(sidecar_suffixes(options));
  list_classes(source, options, context, scan);
  find_fields(source, options, context, scan);
  if (scan.listed) std::erase_if(scan.classes, [](const ScannedClass& item) { return item.files.empty(); });
  check_classes(scan, source, options);
  if (!source.store) read_metadata(source, scan, options.cores, context);
  refuse_equal_members(source, options, scan);
  return scan;
}

void for_each_waiting(std::size_t count, unsigned cores, Context& context,
                      const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  sync::LatencyPool workers({cores, 8, system::most_reads_in_flight(kDescriptorsPerRead)}, context.stop_token());
  workers.run([&](sync::WaitMeter& meter, const std::stop_token&) {
    const std::size_t mine = next.fetch_add(1);
    if (mine >= count) return false;
    const sync::WaitMeter::Scope waiting(meter);
    work(mine);
    return true;
  });
  context.throw_if_stopped();
}

void read_metadata(const SourceFolder& source, ImageFolderScan& scan, unsigned cores, Context& context) {
  MetadataReader(source, scan, context).run(cores);
  mark_large(source, scan);
  if (!scan.problems.empty() || scan.listed) drop_unreadable(scan);
}

void drop_images(ImageFolderScan& scan, const std::function<bool(const ScannedClass&, const ScannedFile&)>& judge) {
  bool any = false;
  for (ScannedClass& owner : scan.classes) {
    for (ScannedFile& file : owner.files) {
      if (!judge(owner, file)) continue;
      file.mtime_ns = kUnreadable;
      any = true;
    }
  }
  if (any) drop_unreadable(scan);
}

void leave_out(ImageFolderScan& scan, const FileJudge& judge) {
  drop_images(scan, [&](const ScannedClass& owner, const ScannedFile& file) {
    std::optional<ScanProblem> problem = judge(owner, file);
    if (problem) scan.problems.push_back(std::move(*problem));
    return problem.has_value();
  });
}

std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file) {
  std::size_t longest = 0;
  if (!owner.members.empty()) {
    const auto image = static_cast<std::uint32_t>(&file - owner.files.data());
    for (const ScannedMember& member : std::ranges::equal_range(owner.members, image, {}, &ScannedMember::image)) {
      longest = std::max(longest, scan.member_name(member).size());
    }
  }
  return formats::image_key(owner.name, owner.path_of(file), file.mark, longest);
}

std::string unmarked_key(const ScannedClass& owner, const ScannedFile& file) {
  return formats::image_key(owner.name, owner.path_of(file));
}

namespace {

struct KeyedFile {
  std::uint64_t hash = 0;   ///< of the key
  std::uint32_t owner = 0;  ///< position of the class
  std::uint32_t file = 0;
  auto operator<=>(const KeyedFile&) const = default;
};

/// Gives images of one key their next mark; throws Error{conflict} if they have the last one.
void mark_group(std::span<ScannedClass> owners, std::span<const KeyedFile> files) {
  auto least = formats::KeyMark::hash;
  const auto path_of = [&](const KeyedFile& at) { return owners[at.owner].path_of(owners[at.owner].files[at.file]); };
  for (const KeyedFile& at : files) least = std::min(least, owners[at.owner].files[at.file].mark);
  if (least == formats::KeyMark::hash) {
    const std::string one = path_of(files[0]);
    throw Error(ErrorCode::conflict, At{one}, "'{}' and '{}' get the same key; rename one of them", one,
                path_of(files[1]));
  }
  for (const KeyedFile& at : files) {
    formats::KeyMark& mark = owners[at.owner].files[at.file].mark;
    if (mark == least) mark = static_cast<formats::KeyMark>(static_cast<int>(least) + 1);
  }
}

/// Marks the images of these classes until all keys differ. Of images that share a
/// key, those with the smallest mark get another, so that "a.jpg.png" is marked if its key equals that of "a.jpg" after
/// the mark for "a.png". The loop is needed because a mark may make a key equal to one that was unique before.
void mark_equal_keys(const ImageFolderScan& scan, std::span<ScannedClass> owners) {
  std::vector<KeyedFile> keys;
  for (bool again = true; again;) {
    keys.clear();
    for (std::uint32_t c = 0; c < owners.size(); ++c) {
      for (std::uint32_t f = 0; f < owners[c].files.size(); ++f)
        keys.push_back({xxh3_64(as_bytes(image_key(scan, owners[c], owners[c].files[f]))), c, f});
    }
    std::ranges::sort(keys);
    again = false;
    for (auto begin = keys.begin(); begin != keys.end();) {
      const auto end = std::find_if(begin, keys.end(), [&](const KeyedFile& key) { return key.hash != begin->hash; });
      if (end - begin > 1) {
        mark_group(owners, {begin, end});
        again = true;
      }
      begin = end;
    }
  }
}

}  // namespace

void choose_keys(ImageFolderScan& scan) {
  // Keys of different classes differ in their first part, unless images without a label have no such part.
  const bool has_nameless = std::ranges::any_of(scan.classes, &std::string::empty, &ScannedClass::name);
  const std::size_t step = has_nameless ? std::max<std::size_t>(scan.classes.size(), 1) : 1;
  for (std::size_t c = 0; c < scan.classes.size(); c += step)
    mark_equal_keys(scan, std::span(scan.classes).subspan(c, step));
}

}  // namespace shardkit::catalog
