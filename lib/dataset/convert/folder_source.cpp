#include "dataset/convert/folder_source.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/hash.hpp"
#include "formats/portable_name.hpp"
#include "formats/tar_header.hpp"
#include "formats/tsv.hpp"
#include "image/image_header.hpp"
#include "io/publish.hpp"
#include "system/limits.hpp"

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
  std::uint64_t value = 0;
  if (found == head.options.end() || !formats::parse_number(found->second, value) || value == 0 || value > most)
    refuse(name);
  return value;
}

}  // namespace

ImageRules image_rules(const formats::PlanHead& head) {
  ImageRules rules{choice<Validate>(head, "validate"), choice<OnBad>(head, "on_bad"), {}};
  if (head.options.contains("resize")) {
    rules.resize = image::ResizeOptions{static_cast<std::uint32_t>(number(head, "resize", kLargestResize)),
                                        static_cast<int>(number(head, "quality", 100))};
  }
  return rules;
}

ClassFolders::ClassFolders(const std::string& source, const formats::PlanHead& head, std::size_t most_open)
    : source_(source), root_(io::File::open_read(source, O_DIRECTORY)), listed_(head.listed), most_open_(most_open) {
  for (const formats::PlanClass& item : head.classes) names_.push_back(item.name);
  folders_.resize(names_.size());
}

const io::File* ClassFolders::folder(std::uint32_t class_index) {
  const std::unique_ptr<io::File>& slot = folders_[class_index];
  {
    const std::scoped_lock lock(mutex_);
    if (slot || open_ == most_open_) return slot.get();
  }
  // Outside of the lock: on a slow source the others would wait for this one.
  auto opened =
      std::make_unique<io::File>(io::File::open_read(io::join_path(source_, names_[class_index]), O_DIRECTORY));
  const std::scoped_lock lock(mutex_);
  if (!slot && open_ < most_open_) {
    folders_[class_index] = std::move(opened);
    ++open_;
  }
  return slot.get();
}

io::File ClassFolders::open(std::optional<std::uint32_t> class_index, const std::string& path) {
  const io::File* opened = listed_ ? nullptr : folder(class_index.value());
  const std::string full = io::join_path(source_, path);
  return opened ? io::File::open_read_at(opened->fd(), path.c_str() + names_[*class_index].size() + 1, full)
                : io::File::open_read_at(root_.fd(), path.c_str(), full);
}

/// One member of a sample on its way into the tar: a file, or text where `file` is null.
struct SampleReader::Member {
  std::string extension;
  const formats::PlannedFile* file;
  std::string_view text;

  std::uint64_t size() const { return file ? file->size : text.size(); }
};

SampleReader::SampleReader(const std::string& source, const formats::PlanHead& head, const Limits& limits)
    : source_(source),
      head_(head),
      rules_(image_rules(head)),
      folders_(source, head, limits.open_folders),
      judge_(rules_.validate == Validate::decode ? limits.cores : 0),
      resizers_(rules_.resize ? limits.cores : 0,
                [this] { return std::make_unique<image::JpegResizer>(*rules_.resize); }) {}

Result<formats::IndexSample> SampleReader::read(const formats::PlannedSample& sample, MutableBytes out,
                                                sync::WaitMeter& meter) {
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
  try {
    for (const Member& member : members) {
      const MutableBytes header = out.subspan(at, formats::kTarBlock);
      at += formats::kTarBlock;
      MutableBytes content = out.subspan(at, member.size());
      if (member.file) {
        read_file(sample, *member.file, content, meter);
      } else {
        std::ranges::copy(as_bytes(member.text), content.begin());
      }
      if (member.file == &sample.image) content = content.first(treat_image(sample, content));
      formats::write_ustar_header(header, fmt::format("{}.{}", result.key, member.extension), content.size());
      result.members.push_back({member.extension, at, content.size(), xxh3_64(content)});
      const std::size_t padded = formats::tar_padded(content.size());
      std::ranges::fill(out.subspan(at + content.size(), padded - content.size()), std::byte{0});
      at += padded;
    }
  } catch (const Error& error) {
    return error;
  }
  return result;
}

void SampleReader::read_file(const formats::PlannedSample& sample, const formats::PlannedFile& file, MutableBytes out,
                             sync::WaitMeter& meter) {
  const auto start = std::chrono::steady_clock::now();
  const sync::WaitMeter::Scope waiting(meter);
  const io::File opened = folders_.open(sample.class_index, formats::file_path(head_, sample, file));
  struct stat info {};
  if (::fstat(opened.fd(), &info) != 0) throw system_error(errno, "stat", opened.path());
  const auto changed = [&](std::string_view what) {
    throw Error(ErrorCode::conflict,
                fmt::format("'{}' has changed since the plan was made ({}); plan again into an empty target",
                            opened.path(), what),
                opened.path());
  };
  if (static_cast<std::uint64_t>(info.st_size) != file.size) {
    changed(fmt::format("{} bytes then, {} now", file.size, info.st_size));
  }
  if (io::mtime_ns(info) != file.mtime_ns) {
    changed("modified since");
  }
  const std::size_t got = opened.read_at(0, out);
  if (got != out.size()) changed(fmt::format("it ended after {} of {} bytes while it was read", got, out.size()));
  read_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

std::size_t SampleReader::treat_image(const formats::PlannedSample& sample, MutableBytes content) {
  const std::string problem = image_problem(sample, content);
  if (problem.empty()) return rules_.resize ? resize_image(sample, content) : content.size();
  refuse_image(sample, problem);
  return content.size();
}

std::string SampleReader::image_problem(const formats::PlannedSample& sample, Bytes content) {
  if (rules_.validate == Validate::none) return {};
  if (const auto problem = image::header_problem(content, sample.image.extension)) {
    return fmt::format("{}: {}", problem->code, problem->text);
  }
  if (rules_.validate != Validate::decode) return {};
  const std::optional<ImageFault> fault = judge_.fault(content, sample.image.extension);
  return fault && fault->is_error() ? fault->describe() : std::string();
}

std::size_t SampleReader::resize_image(const formats::PlannedSample& sample, MutableBytes content) {
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

void SampleReader::refuse_image(const formats::PlannedSample& sample, const std::string& why) {
  if (rules_.on_bad == OnBad::keep) {
    ++counts_.kept_bad;
    return;
  }
  const std::string path = io::join_path(source_, formats::image_path(head_, sample));
  throw Error(ErrorCode::corrupt,
              fmt::format("'{}' is not a good image: {}; mend it, or leave it out with --on-bad skip", path, why),
              path);
}

FolderSource::FolderSource(const formats::PlanReader& plan, const std::string& folder, unsigned cores)
    : plan_(plan),
      rules_(image_rules(plan.head())),
      label_digits_(formats::label_digits(plan.head())),
      reader_(folder, plan.head(), {cores, std::min(system::usable_descriptors() / 4, 512U)}) {}

NextSample FolderSource::open(std::size_t shard) {
  return [this, samples = plan_.read_shard(shard)]() mutable -> std::optional<PendingSample> {
    const auto sample = std::make_shared<formats::PlannedSample>();
    if (!samples.next(*sample)) return std::nullopt;
    const std::size_t label_digits = sample->class_index ? label_digits_[*sample->class_index] : 0;
    return PendingSample{
        formats::sample_tar_bytes(*sample, label_digits),
        [this, sample](MutableBytes out, sync::WaitMeter& meter) { return reader_.read(*sample, out, meter); },
        [this, sample] { return formats::image_path(plan_.head(), *sample); }};
  };
}

bool FolderSource::leaves_out(const Error& error) const {
  return rules_.on_bad == OnBad::skip && is_bad_file(error.code());
}

}  // namespace shardkit::dataset
