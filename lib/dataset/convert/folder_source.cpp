#include "dataset/convert/folder_source.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

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
namespace {

[[noreturn]] void refuse(const std::string& name) {
  throw Error(ErrorCode::corrupt, fmt::format("the plan has no valid option {}; make it again", name));
}

/// The value that an option has in the plan, as the enum.
template <class E>
E choice(const formats::PlanHead& head, const std::string& name) {
  const auto found = head.options.find(name);
  for (std::size_t i = 0; found != head.options.end() && i < kEnumNames<E>.size(); ++i) {
    if (kEnumNames<E>[i] == found->second) return static_cast<E>(i);
  }
  refuse(name);
}

std::uint64_t number(const formats::PlanHead& head, const std::string& name, std::uint64_t most) {
  const auto found = head.options.find(name);
  const auto value = found == head.options.end() ? std::nullopt : parse_count(found->second, most);
  if (value.value_or(0) == 0) refuse(name);
  return *value;
}

[[noreturn]] void refuse_changed(const std::string& path, std::string_view what) {
  throw Error(ErrorCode::conflict,
              fmt::format("'{}' has changed since the plan was made ({}); plan again into an empty target", path, what),
              path);
}

std::string other_size(const formats::PlannedFile& file, std::uint64_t now) {
  return fmt::format("{} bytes then, {} now", file.size, now);
}

/// What a plan says is to be done with each image on its way into a shard.
struct ImageRules {
  Validate validate = Validate::none;
  OnBad on_bad = OnBad::fail;
  std::optional<image::ResizeOptions> resize;
};

ImageRules image_rules(const formats::PlanHead& head) {
  ImageRules rules{choice<Validate>(head, "validate"), choice<OnBad>(head, "on_bad"), {}};
  if (head.options.contains("resize")) {
    rules.resize = image::ResizeOptions{static_cast<std::uint32_t>(number(head, "resize", kLargestResize)),
                                        static_cast<int>(number(head, "quality", 100))};
  }
  return rules;
}

/// One member of a sample on its way into the tar: a file, or text where `file` is null.
struct Member {
  std::string extension;
  const formats::PlannedFile* file;
  std::string_view text;

  std::uint64_t size() const { return file ? file->size : text.size(); }
};

class FolderSource final : public SampleSource {
 public:
  FolderSource(const formats::PlanReader& plan, const catalog::SourceFolder& images, unsigned cores,
               ImageCounts& counts)
      : plan_(plan),
        head_(plan.head()),
        images_(images),
        root_(images.store ? io::File() : io::File::open_read(images.path, O_DIRECTORY)),
        rules_(image_rules(head_)),
        label_digits_(formats::label_digits(head_)),
        decoders_(rules_.validate == Validate::decode ? cores : 0),
        resizers_(rules_.resize ? cores : 0, [this] { return std::make_unique<image::JpegResizer>(*rules_.resize); }),
        counts_(counts) {}

  NextSample open(std::size_t shard) override {
    return [this, samples = plan_.read_shard(shard)]() mutable -> std::optional<PendingSample> {
      const auto sample = std::make_shared<formats::PlannedSample>();
      if (!samples.next(*sample)) return std::nullopt;
      const std::size_t label_digits = sample->class_index ? label_digits_[*sample->class_index] : 0;
      return PendingSample{
          formats::sample_tar_bytes(*sample, label_digits),
          [this, sample](MutableBytes out, sync::WaitMeter& meter) { return read(*sample, out, meter); },
          [this, sample] { return formats::image_path(head_, *sample); }};
    };
  }

  std::optional<std::string> reason_left_out(const Error& error) const override {
    if (rules_.on_bad != OnBad::skip || !is_bad_file(error.code())) return std::nullopt;
    return images_.without_folder(error.what());
  }

 private:
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
    std::uint64_t at = 0;
    for (const Member& member : members) {
      MutableBytes content = out.subspan(at + formats::kTarBlock, member.size());
      std::string path;
      if (member.file) {
        path = formats::file_path(head_, sample, *member.file);
        timed(meter, [&] { read_file(path, *member.file, content); });
      } else {
        std::ranges::copy(as_bytes(member.text), content.begin());
      }
      if (member.file == &sample.image) content = content.first(check_image(sample, content));
      result.members.push_back(finish_member(out, at, result.key, member.extension, content.size()));
      if (head_.paths && member.file && path != formats::implied_path(result.path, member.extension)) {
        result.members.back().path = std::move(path);
      }
      at += formats::tar_member_bytes(content.size());
    }
    return result;
  }

  void read_file(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    if (file.version.has_value() != (images_.store != nullptr)) {
      refuse_changed(images_.path_of(path), file.version ? "it was an object of a store" : "it was a local file");
    }
    if (images_.store) {
      read_object(path, file, out);
    } else {
      read_local(path, file, out);
    }
  }

  void read_local(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    const io::File opened = io::File::open_read_at(root_.fd(), path.c_str(), images_.path_of(path));
    struct stat info {};
    if (::fstat(opened.fd(), &info) != 0) throw system_error(errno, "stat", opened.path());
    const auto size = static_cast<std::uint64_t>(info.st_size);
    if (size != file.size) refuse_changed(opened.path(), other_size(file, size));
    if (io::mtime_ns(info) != file.mtime_ns) refuse_changed(opened.path(), "modified since");
    const std::size_t got = opened.read_at(0, out);
    if (got == out.size()) return;
    refuse_changed(opened.path(), fmt::format("it ended after {} of {} bytes while it was read", got, out.size()));
  }

  /// One request for the version that was planned: who looks first asks twice.
  void read_object(const std::string& path, const formats::PlannedFile& file, MutableBytes out) {
    const io::ObjectInfo object{path, file.size, *file.version};
    if (io::fetch_bytes(*images_.store, object, out, images_.inputs->stop()) == io::Fetched::whole) return;
    const std::string address = images_.path_of(path);
    const std::optional<io::ObjectInfo> now = images_.store->find(path);
    if (!now) throw Error(ErrorCode::not_found, fmt::format("'{}' is not there", address), address);
    refuse_changed(address, now->size == file.size ? "another version" : other_size(file, now->size));
  }

  /// Applies the rules to an image in its place; returns how many of its bytes are left.
  std::size_t check_image(const formats::PlannedSample& sample, MutableBytes content) {
    const std::string problem = image_problem(sample, content);
    if (problem.empty()) return rules_.resize ? resize_image(sample, content) : content.size();
    refuse_image(sample, problem);
    return content.size();
  }

  std::string image_problem(const formats::PlannedSample& sample, Bytes content) {
    if (rules_.validate == Validate::none) return {};
    if (const auto problem = image::header_problem(content, sample.image.extension)) {
      return fmt::format("{}: {}", problem->code, problem->text);
    }
    if (rules_.validate != Validate::decode) return {};
    const std::optional<ImageFault> fault = image_fault(*decoders_.borrow(), content, sample.image.extension);
    return fault && fault->is_error() ? fault->describe() : std::string();
  }

  std::size_t resize_image(const formats::PlannedSample& sample, MutableBytes content) {
    const image::ImageKind kind = image::sniff_image(content);
    if (kind == image::ImageKind::unknown && formats::portable_extension(sample.image.extension) == "jpg") {
      refuse_image(sample, "it cannot be resized: its first bytes are not those of an image");
      return content.size();
    }
    if (kind != image::ImageKind::jpeg) {
      ++counts_.not_jpeg;
      return content.size();
    }
    const auto resizer = resizers_.borrow();
    const image::Resized result = resizer->resize(content, content.size());
    if (result.failure != image::DecodeFailure::none) {
      refuse_image(sample, fmt::format("it cannot be resized: {} {}", enum_name(result.failure), result.message));
    }
    if (!result.changed) return content.size();
    ++counts_.resized;
    if (result.quality < rules_.resize->quality) ++counts_.other_quality;
    std::ranges::copy(result.jpeg, content.begin());
    return result.jpeg.size();
  }

  /// Throws for an image that is not good, or counts it where bad images are kept.
  void refuse_image(const formats::PlannedSample& sample, const std::string& why) {
    if (rules_.on_bad == OnBad::keep) {
      ++counts_.kept_bad;
      return;
    }
    const std::string path = images_.path_of(formats::image_path(head_, sample));
    throw Error(ErrorCode::corrupt,
                fmt::format("'{}' is not a good image: {}{}", path, why,
                            rules_.on_bad == OnBad::skip ? "" : "; mend it, or leave it out with --on-bad skip"),
                path);
  }

  const formats::PlanReader& plan_;
  const formats::PlanHead& head_;
  const catalog::SourceFolder images_;
  const io::File root_;  ///< of a local source
  const ImageRules rules_;
  const std::vector<std::size_t> label_digits_;
  sync::LoanPool<image::JpegDecoder> decoders_;  ///< for hundreds of threads that read
  sync::LoanPool<image::JpegResizer> resizers_;
  ImageCounts& counts_;
};

}  // namespace

std::unique_ptr<SampleSource> folder_source(const formats::PlanReader& plan, const catalog::SourceFolder& images,
                                            unsigned cores, ImageCounts& counts) {
  return std::make_unique<FolderSource>(plan, images, cores, counts);
}

}  // namespace shardkit::dataset
