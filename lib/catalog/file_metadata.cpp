#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "catalog/image_folder.hpp"
#include "formats/tar_header.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"
#include "sync/latency_pool.hpp"
#include "system/limits.hpp"

namespace shardkit::catalog {
namespace {

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
  MetadataReader(const SourceFolder& source, ImageFolderScan& scan, Context& ctx)
      : source_(source),
        scan_(scan),
        ctx_(ctx),
        root_(source.store ? io::File() : io::File::open_read(source.path, O_DIRECTORY)) {}

  void run(unsigned cores) {
    const std::vector<StatBatch> batches = batches_of(scan_.classes);
    for_each_waiting(batches.size(), cores, ctx_, [&](std::size_t at) {
      read(batches[at]);
      ctx_.progress().items += batches[at].end - batches[at].begin;
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
      add_problem(owner, file, Error(ErrorCode::not_found, At{address}, "'{}' does not exist", address));
    }
  }

  void read(const io::File& folder, const ScannedClass& owner, ScannedFile& file, bool optional) {
    const char* name = owner.names.data() + file.name_offset;
    const bool of_source = *name == '/';
    const io::File& start = of_source ? root_ : folder;
    name += of_source ? 1 : 0;
    struct stat info {};
    if (::fstatat(start.fd(), name, &info, 0) != 0) {
      if (optional && errno == ENOENT) {
        file.mtime_ns = kUnreadable;
      } else {
        add_problem(owner, file, system_error(errno, "read", io::join_path(start.path(), name)));
      }
    } else if (!S_ISREG(info.st_mode)) {
      const std::string path = io::join_path(start.path(), name);
      add_problem(owner, file, Error(ErrorCode::corrupt, At{path}, "'{}' is not a regular file", path));
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
  Context& ctx_;
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
    const Error error(ErrorCode::corrupt, At{path},
                      "'{}' has {} bytes; members of portable shards must be smaller than 8 GiB", path, file.size);
    scan.problems.push_back({owner.path_of(image), error});
    image.mtime_ns = kUnreadable;
  };
  for (ScannedClass& owner : scan.classes) {
    for (ScannedFile& file : owner.files) mark_if_large(owner, file, file);
    for (const ScannedMember& member : owner.members) mark_if_large(owner, owner.files[member.image], member.file);
  }
}

}  // namespace

void for_each_waiting(std::size_t count, unsigned cores, Context& ctx, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  sync::LatencyPool workers({cores, 8, system::most_reads_in_flight(kDescriptorsPerRead)}, ctx.stop_token());
  workers.run([&](sync::WaitMeter& meter, const std::stop_token&) {
    const std::size_t mine = next.fetch_add(1);
    if (mine >= count) return false;
    const sync::WaitMeter::Scope waiting(meter);
    work(mine);
    return true;
  });
  ctx.throw_if_stopped();
}

void read_metadata(const SourceFolder& source, ImageFolderScan& scan, unsigned cores, Context& ctx) {
  MetadataReader(source, scan, ctx).run(cores);
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

}  // namespace shardkit::catalog
