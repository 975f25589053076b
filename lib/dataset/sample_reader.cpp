#include "dataset/sample_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "core/hash.hpp"
#include "formats/portable_name.hpp"
#include "formats/ustar.hpp"
#include "image/probe.hpp"
#include "io/publish.hpp"

namespace shardkit {

ClassFolders::ClassFolders(const std::string& source, const PlanHead& head, std::size_t most_open)
    : source_(source), root_(File::open_read(source, O_DIRECTORY)), listed_(head.listed), most_open_(most_open) {
  for (const PlanClass& item : head.classes) names_.push_back(item.name);
  folders_.resize(names_.size());
}

const File* ClassFolders::folder(std::uint32_t class_index) {
  const std::unique_ptr<File>& slot = folders_[class_index];
  {
    const std::scoped_lock lock(mutex_);
    if (slot || open_ == most_open_) return slot.get();
  }
  // Outside of the lock: on a slow source the others would wait for this one.
  auto opened = std::make_unique<File>(File::open_read(join_path(source_, names_[class_index]), O_DIRECTORY));
  const std::scoped_lock lock(mutex_);
  if (!slot && open_ < most_open_) {
    folders_[class_index] = std::move(opened);
    ++open_;
  }
  return slot.get();
}

File ClassFolders::open(std::optional<std::uint32_t> class_index, const std::string& path) {
  const File* opened = listed_ ? nullptr : folder(class_index.value());
  const std::string full = join_path(source_, path);
  return opened ? File::open_read_at(opened->fd(), path.c_str() + names_[*class_index].size() + 1, full)
                : File::open_read_at(root_.fd(), path.c_str(), full);
}

DecoderPool::DecoderPool(unsigned cores) {
  for (unsigned i = 0; i < cores; ++i) idle_.push_back(std::make_unique<JpegDecoder>());
}

std::string DecoderPool::problem(Bytes jpeg) {
  const Loan loan(*this);
  const Decoded decoded = loan.decoder->decode(jpeg);
  if (decoded.has_pixels()) return {};
  return fmt::format("{} {}", EnumNames<DecodeFailure>::names[static_cast<std::size_t>(decoded.failure)],
                     decoded.message);
}

DecoderPool::Loan::Loan(DecoderPool& from) : pool(from) {
  std::unique_lock lock(pool.mutex_);
  pool.changed_.wait(lock, [&] { return !pool.idle_.empty(); });
  decoder = std::move(pool.idle_.back());
  pool.idle_.pop_back();
}

DecoderPool::Loan::~Loan() {
  const std::scoped_lock lock(pool.mutex_);
  pool.idle_.push_back(std::move(decoder));
  pool.changed_.notify_one();
}

/// One member of a sample on its way into the tar: a file, or text where `file` is null.
struct SampleReader::Member {
  std::string extension;
  const PlannedFile* file;
  std::string_view text;

  std::uint64_t size() const { return file ? file->size : text.size(); }
};

SampleReader::SampleReader(const std::string& source, const PlanHead& head, Validate validate, OnBad on_bad,
                           const Limits& limits)
    : source_(source),
      head_(head),
      validate_(validate),
      on_bad_(on_bad),
      folders_(source, head, limits.open_folders),
      decoders_(validate == Validate::decode ? limits.cores : 0) {}

Result<IndexSample> SampleReader::read(const PlannedSample& sample, MutableBytes out, WaitMeter& meter) {
  IndexSample result{sample_key(head_, sample), {}, image_path(head_, sample), {}};
  std::string label;
  std::vector<Member> members{{portable_extension(sample.image.extension), &sample.image, {}}};
  for (const PlannedFile& file : sample.sidecars) members.push_back({portable_extension(file.extension), &file, {}});
  if (!sample.json.empty()) members.push_back({"json", nullptr, sample.json});
  if (sample.class_index) {
    result.label = head_.classes[*sample.class_index].label;
    label = label_text(*result.label);
    members.push_back({"cls", nullptr, label});
  }
  std::ranges::sort(members, {}, &Member::extension);  // as webdataset's writer does
  std::uint64_t at = 0;
  try {
    for (const Member& member : members) {
      write_ustar_header(out.subspan(at, kTarBlock), fmt::format("{}.{}", result.key, member.extension), member.size());
      at += kTarBlock;
      const MutableBytes content = out.subspan(at, member.size());
      if (member.file) {
        read_file(sample, *member.file, content, meter);
      } else {
        std::ranges::copy(as_bytes(member.text), content.begin());
      }
      if (member.file == &sample.image) validate_image(sample, content);
      result.members.push_back({member.extension, at, member.size(), xxh3_64(content)});
      const MutableBytes padding = out.subspan(at + member.size(), tar_padded(member.size()) - member.size());
      std::ranges::fill(padding, std::byte{0});
      at += tar_padded(member.size());
    }
  } catch (const Error& error) {
    return error;
  }
  return result;
}

void SampleReader::read_file(const PlannedSample& sample, const PlannedFile& file, MutableBytes out, WaitMeter& meter) {
  const auto start = std::chrono::steady_clock::now();
  const WaitMeter::Scope waiting(meter);
  const File opened = folders_.open(sample.class_index, file_path(head_, sample, file));
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
  if (std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec != file.mtime_ns) {
    changed("modified since");
  }
  const std::size_t got = opened.read_at(0, out);
  if (got != out.size()) changed(fmt::format("it ended after {} of {} bytes while it was read", got, out.size()));
  read_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

void SampleReader::validate_image(const PlannedSample& sample, Bytes content) {
  if (validate_ == Validate::none) return;
  std::string why;
  if (const auto problem = header_problem(content, sample.image.extension)) {
    why = fmt::format("{}: {}", problem->code, problem->text);
  } else if (validate_ == Validate::decode && sniff_image(content) == ImageKind::jpeg) {
    why = decoders_.problem(content);
  }
  if (why.empty()) return;
  if (on_bad_ == OnBad::keep) {
    ++kept_bad_;
    return;
  }
  const std::string path = join_path(source_, image_path(head_, sample));
  throw Error(ErrorCode::corrupt,
              fmt::format("'{}' is not a good image: {}; mend it, or leave it out with --on-bad skip", path, why),
              path);
}

}  // namespace shardkit
