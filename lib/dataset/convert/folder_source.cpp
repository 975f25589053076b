#include "dataset/convert/folder_source.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "dataset/checks/image_fault.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"
#include "image/image_header.hpp"
#include "image/jpeg_resizer.hpp"
#include "io/file.hpp"
#include "sync/loan_pool.hpp"

namespace shardkit::dataset {

void refuse_planned(const std::string& name) {
  throw Error(ErrorCode::corrupt, fmt::format("the plan has no valid option {}; create it again", name));
}

namespace {

std::uint64_t number(const formats::PlanHead& head, const std::string& name, std::uint64_t most) {
  const auto found = head.options.find(name);
  const auto value = found == head.options.end() ? std::nullopt : parse_count(found->second, most);
  if (value.value_or(0) == 0) refuse_planned(name);
  return *value;
}

[[noreturn]] void refuse_changed(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::conflict, At{path},
              "'{}' has changed since the plan was made ({}); plan again into an empty target", path, what);
}

std::string other_size(const formats::PlannedFile& file, std::uint64_t now) {
  return fmt::format("{} bytes then, {} now", file.size, now);
}

/// The plan's treatment of each image on its way into a shard.
struct ImageRules {
  Validate validate = Validate::none;
  bool strict = false;
  std::optional<image::ResizeOptions> resize;
};

ImageRules image_rules(const formats::PlanHead& head) {
  ImageRules rules{planned_choice(head, "validate", Validate::none), head.options.contains("strict"), {}};
  if (head.options.contains("resize")) {
    rules.resize = image::ResizeOptions{static_cast<std::uint32_t>(number(head, "resize", kLargestResize)),
                                        static_cast<int>(number(head, "quality", 100))};
  }
  return rules;
}

/// One member of a sample: a file, or text if `file` is null.
struct Member {
  std::string extension;
  const formats::PlannedFile* file;
  std::string_view text;

  std::uint64_t size() const { return file ? file->size : text.size(); }
};

class FolderSource final : public SampleSource {
 public:
  FolderSource(const formats::PlanReader& plan, const catalog::SourceFolder& images, const SourceRules& source,
               const Amendments& amendments, unsigned cores, ImageCounts& counts)
      : plan_(plan),
        head_(plan.head()),
        images_(images),
        root_(images.store ? io::File() : io::File::open_read(images.path, O_DIRECTORY)),
        source_(source),
        amendments_(amendments.files),
        rules_(image_rules(head_)),
        checkers_(rules_.validate == Validate::none ? 0 : cores),
        resizers_(rules_.resize ? cores : 0, [this] { return std::make_unique<image::JpegResizer>(*rules_.resize); }),
        counts_(counts) {}

  SampleCursor open(std::size_t shard) override {
    return [this, samples = plan_.read_shard(shard)]() mutable -> std::optional<PendingSample> {
      const auto sample = std::make_shared<formats::PlannedSample>();
      if (!samples.next(*sample)) return std::nullopt;
      std::vector<BadFile> corrected = amend(*sample);
      return PendingSample{
          formats::sample_tar_bytes(head_, *sample),
          [this, sample](MutableBytes out, sync::WaitMeter& meter) { return read(*sample, out, meter); },
          std::move(corrected)};
    };
  }

 private:
  /// Takes files that are listed, or could not be read when the plan was made, as they are now. Returns those that
  /// differ from the plan.
  std::vector<BadFile> amend(formats::PlannedSample& sample) const {
    std::vector<BadFile> corrected;
    const auto take = [&](formats::PlannedFile& file) {
      const bool unread = formats::is_unread(file);
      if (amendments_.empty() && !unread) return;
      const std::string path = formats::file_path(head_, sample, file);
      const KnownBadFile* listed = known(path);
      if (!listed && !unread) return;
      const FileStatus now = listed ? listed->now : source_status(images_, path);
      if (!now.state) return;
      if (!is_same_file(*now.state, file, listed ? source_.identity : FileIdentity::mtime)) {
        corrected.push_back({BadState::corrected, path, file, now,
                             listed ? listed->listed.reason : std::string("was not readable before")});
      }
      static_cast<catalog::FileState&>(file) = *now.state;
    };
    take(sample.image);
    for (formats::PlannedFile& file : sample.sidecars) take(file);
    return corrected;
  }

  /// Null for a file that no earlier run listed.
  const KnownBadFile* known(const std::string& path) const {
    const auto found = amendments_.find(path);
    return found == amendments_.end() ? nullptr : &found->second;
  }

  formats::IndexSample read(const formats::PlannedSample& sample, MutableBytes out, sync::WaitMeter& meter) {
    formats::IndexSample result{formats::sample_key(head_, sample), {}, formats::image_path(head_, sample), {}};
    std::string label;
    std::vector<Member> members{{formats::portable_extension(sample.image.extension), &sample.image, {}}};
    for (const formats::PlannedFile& file : sample.sidecars)
      members.push_back({formats::portable_extension(file.extension), &file, {}});
    if (!sample.json.empty()) members.push_back({"json", nullptr, sample.json});
    if (sample.class_index) {
      result.label = head_.classes[*sample.class_index].label;
      label = formats::label_text(*result.label);
      members.push_back({"cls", nullptr, label});
    }
    std::ranges::sort(members, {}, &Member::extension);  // as webdataset's writer does
    std::vector<BadFile> bad;
    std::uint64_t at = 0;
    for (const Member& member : members) {
      MutableBytes content = out.subspan(at + formats::kTarBlock, member.size());
      if (!member.file) {
        std::ranges::copy(as_bytes(member.text), content.begin());
      } else if (auto fault = read_member(sample, member, content, meter)) {
        bad.push_back(std::move(*fault));
        continue;  // to find all that are bad
      }
      result.members.push_back(finish_member(out, at, result.key, member.extension, content.size()));
      if (head_.paths && member.file) {
        std::string path = formats::file_path(head_, sample, *member.file);
        if (path != formats::implied_path(result.path, member.extension)) {
          result.members.back().path = std::move(path);
        }
      }
      at += formats::tar_member_bytes(content.size());
    }
    if (!bad.empty()) refuse_sample(result.path, std::move(bad));
    return result;
  }

  /// Reads a file to its position and judges it; `content` shrinks if it was resized. Returns why it is bad.
  std::optional<BadFile> read_member(const formats::PlannedSample& sample, const Member& member, MutableBytes& content,
                                     sync::WaitMeter& meter) {
    const formats::PlannedFile& file = *member.file;
    const std::string path = formats::file_path(head_, sample, file);
    try {
      timed(meter, [&] { read_file(path, file, content); });
    } catch (const Error& error) {
      if (!is_bad_file(error.code())) throw;
      if (error.code() == ErrorCode::not_found) refuse_gone_folder(sample);
      return bad_file(path, file, {.gone = source_status(images_, path).gone}, images_.without_folder(error.what()),
                      error.path() == images_.path_of(path) ? error.fault() : Fault());
    }
    if (source_.on_bad != OnBad::keep && formats::is_git_lfs_pointer(content)) {
      const Fault fault{"is a Git LFS pointer, not the file: fetch it with `git lfs pull`"};
      return bad_file(path, file, {.state = file}, fmt::format("'{}' {}", path, fault.text), fault);
    }
    std::string why;
    if (is_image_member(member.extension, content)) why = image_problem(content, file.extension, path);
    if (why.empty() && &file == &sample.image && rules_.resize) why = resize_image(file, content);
    const bool is_empty = rules_.validate != Validate::none && &file == &sample.image && content.empty();
    if (why.empty() && !is_empty) return std::nullopt;
    if (source_.on_bad == OnBad::keep) {
      ++counts_.kept_bad;
      return std::nullopt;
    }
    const Fault fault{why.empty() ? "is an empty file" : "is a bad image: " + why};
    return bad_file(path, file, {.state = file}, fmt::format("'{}' {}", path, fault.text), fault);
  }

  BadFile bad_file(const std::string& path, const formats::PlannedFile& file, FileStatus seen, std::string reason,
                   Fault fault) const {
    const KnownBadFile* listed = known(path);
    const BadState state = listed && listed->is_deleted() ? BadState::deleted
                           : source_.on_bad == OnBad::skip || (listed && listed->is_left_out(source_.identity))
                               ? BadState::left_out
                               : BadState::open;
    return {state, path, listed ? listed->listed.planned : file, std::move(seen), std::move(reason), std::move(fault)};
  }

  /// A sample is left out as a whole: a file deleted on purpose decides for its other files, then one that is open.
  [[noreturn]] static void refuse_sample(const std::string& path, std::vector<BadFile> bad) {
    for (const BadState decides : {BadState::deleted, BadState::open}) {
      if (std::ranges::count(bad, decides, &BadFile::state) == 0) continue;
      for (BadFile& file : bad) file.state = decides;
      break;
    }
    const Error why(bad.front().code(), bad.front().reason, bad.front().path);
    throw BadSample(path, why, std::move(bad));
  }

  /// One file may have been deleted; a folder of the plan is rather a source that went away.
  void refuse_gone_folder(const formats::PlannedSample& sample) const {
    if (images_.store || head_.listed) return;
    const std::string& folder = head_.classes.at(sample.class_index.value()).name;
    if (::faccessat(root_.fd(), folder.c_str(), F_OK, 0) == 0) return;
    throw Error(
        ErrorCode::io, At{images_.path_of(folder)},
        "'{}' disappeared while being read: is all of the source mounted? Run the same command again when it is back",
        images_.path_of(folder));
  }

  void read_file(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    const bool by_size = source_.identity == FileIdentity::size;
    if (!by_size && file.version.has_value() != (images_.store != nullptr)) {
      refuse_changed(images_.path_of(path), file.version ? "it was an object of a store" : "it was a local file");
    }
    if (images_.store) {
      read_object(path, file, out);
    } else {
      read_local(path, file, out);
    }
  }

  /// Looks at the file after the read: size and time that are still the planned ones hold for what was read, too. With
  /// --identity size the time before is the one to compare with.
  void read_local(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    const bool is_outside = path.starts_with(catalog::kParent);
    const io::File opened = is_outside
                                ? io::File::open_read(images_.opened_path(path), O_NONBLOCK)
                                : io::File::open_read_at(root_.fd(), path.c_str(), images_.path_of(path), O_NONBLOCK);
    if (!S_ISREG(opened.info().st_mode)) {
      throw Error(ErrorCode::corrupt, At{opened.path()}, Fault{"is not a regular file"});
    }
    const std::int64_t expected = source_.identity == FileIdentity::size ? io::mtime_ns(opened.info()) : file.mtime_ns;
    const std::size_t got = opened.read_at(0, out);
    const struct stat info = opened.info();
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size != file.size) refuse_changed(opened.path(), other_size(file, size));
    if (io::mtime_ns(info) != expected) refuse_changed(opened.path(), "modified since");
    if (got == out.size()) return;
    refuse_changed(opened.path(), fmt::format("it ended after {} of {} bytes while being read", got, out.size()));
  }

  /// One request for the version that was planned: a check first would need two. Without a version a check is
  /// necessary.
  void read_object(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    const bool looks_first = source_.identity == FileIdentity::size || formats::is_unread(file);
    std::optional<io::ObjectInfo> now;
    if (looks_first) now = images_.store->find(path);
    const io::ObjectInfo object{path, file.size, now ? now->version : file.version.value_or("")};
    const bool may_fit = looks_first ? now && now->size == file.size : true;
    if (may_fit && io::fetch_bytes(*images_.store, object, out, images_.inputs->stop()) == io::Fetched::whole) return;
    const std::string address = images_.path_of(path);
    now = images_.store->find(path);
    if (!now) throw Error(ErrorCode::not_found, At{address}, Fault{"does not exist"});
    refuse_changed(address, now->size == file.size ? "another version" : other_size(file, now->size));
  }

  /// The fault of an image found by --validate; empty for a good one. Counts accepted faults.
  std::string image_problem(Bytes content, std::string_view extension, const std::string& path) {
    const std::optional<ImageFault> fault = look(content, extension);
    if (!fault) return {};
    if (fault->is_error() || rules_.strict)
      return fmt::format("{} ({})", fault->reason(), problem_kind(fault->code).name);
    ++counts_.accepted[static_cast<std::size_t>(fault->code)];
    const std::scoped_lock lock(counts_.mutex);
    std::set<std::string>& paths = counts_.accepted_paths[fault->code];
    paths.insert(path);
    if (paths.size() > ImageCounts::kMostPaths) paths.erase(std::prev(paths.end()));
    return {};
  }

  std::optional<ImageFault> look(Bytes content, std::string_view extension) {
    if (rules_.validate == Validate::none) return std::nullopt;
    if (rules_.validate != Validate::decode) {
      std::optional<ImageFault> fault =
          rules_.validate == Validate::magic ? ends_fault(content, extension) : header_fault(content, extension);
      if (!needs_decoding(fault)) return fault;
    }
    return image_fault(*checkers_.borrow(), content, extension);
  }

  /// Puts the smaller image in the place of `content`, which shrinks. The answer is why that failed.
  std::string resize_image(const formats::PlannedFile& file, MutableBytes& content) {
    const image::ImageKind kind = image::sniff_image(content);
    if (kind == image::ImageKind::unknown && formats::portable_extension(file.extension) == "jpg") {
      return "it cannot be resized: its first bytes are not those of an image";
    }
    if (kind != image::ImageKind::jpeg) {
      ++counts_.not_jpeg;
      return {};
    }
    const auto resizer = resizers_.borrow();
    const image::Resized result = resizer->resize(content, content.size());
    if (result.failure != image::DecodeFailure::none) {
      return fmt::format("it cannot be resized: {}", problem_kind(decode_code(result.failure)).meaning);
    }
    if (!result.changed) return {};
    ++counts_.resized;
    if (result.quality < rules_.resize->quality) ++counts_.other_quality;
    std::ranges::copy(result.jpeg, content.begin());
    content = content.first(result.jpeg.size());
    return {};
  }

  const formats::PlanReader& plan_;
  const formats::PlanHead& head_;
  const catalog::SourceFolder images_;
  const io::File root_;  ///< of a local source
  const SourceRules source_;
  const std::map<std::string, KnownBadFile>& amendments_;
  const ImageRules rules_;
  sync::LoanPool<image::PixelChecker> checkers_;  ///< for hundreds of threads that read
  sync::LoanPool<image::JpegResizer> resizers_;
  ImageCounts& counts_;
};

}  // namespace

void require_folders(const catalog::SourceFolder& images, const formats::PlanHead& head) {
  if (images.store) return;
  const auto away = [&](ErrorCode code, const std::string& what) {
    throw Error(code, At{images.path}, "{}: is the source mounted? Run the same command again when it is back", what);
  };
  std::error_code error;
  if (std::filesystem::is_empty(images.path, error) || error) {
    if (error) throw system_error(error.value(), "read the source", images.path);
    away(ErrorCode::not_found, fmt::format("the source '{}' is empty", images.path));
  }
  if (head.listed) return;
  const auto gone = [&](const formats::ManifestClass& item) {
    return item.samples > 0 && !std::filesystem::exists(images.path_of(item.name));
  };
  const auto first = std::ranges::find_if(head.classes, gone);
  if (first == head.classes.end()) return;
  if (std::ranges::all_of(head.classes, [&](const auto& item) { return item.samples == 0 || gone(item); })) {
    away(ErrorCode::not_found, fmt::format("'{}' has no class folder of the plan", images.path));
  }
  away(ErrorCode::io, fmt::format("class folder '{}' of the plan no longer exists", images.path_of(first->name)));
}

std::unique_ptr<SampleSource> folder_source(const formats::PlanReader& plan, const catalog::SourceFolder& images,
                                            const SourceRules& rules, const Amendments& amendments, unsigned cores,
                                            ImageCounts& counts) {
  return std::make_unique<FolderSource>(plan, images, rules, amendments, cores, counts);
}

}  // namespace shardkit::dataset
