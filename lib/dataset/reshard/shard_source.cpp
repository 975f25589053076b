#include "dataset/reshard/shard_source.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "core/hash.hpp"
#include "dataset/samples/sample_lister.hpp"
#include "formats/tar_header.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

/// Throws Error{conflict} when the tar is not what it was.
std::shared_ptr<ByteSource> open_unchanged(const ReshardInput& tar, catalog::Inputs& inputs) {
  if (catalog::is_address(tar.tar())) return inputs.open(tar.tar());  // it is read in the version of its identity
  auto file = std::make_shared<io::FileSource>(tar.tar());
  if (tar.unpacked) return file;  // nobody else knows it
  struct stat info {};
  if (::fstat(file->file().fd(), &info) != 0) throw system_error(errno, "stat", tar.path);
  if (static_cast<std::uint64_t>(info.st_size) == tar.identity.bytes && io::mtime_ns(info) == tar.identity.mtime_ns) {
    return file;
  }
  throw Error(
      ErrorCode::conflict,
      fmt::format("'{}' has changed since its samples were listed; reshard again into an empty folder", tar.path),
      tar.path);
}

}  // namespace

InputFiles::InputFiles(const ReshardInputs& inputs, std::size_t most_open)
    : inputs_(inputs), most_open_(most_open), files_(inputs.tars.size()) {}

std::shared_ptr<ByteSource> InputFiles::open(std::size_t input) {
  {
    const std::scoped_lock lock(mutex_);
    if (files_[input]) return files_[input];
  }
  std::shared_ptr<ByteSource> file =
      open_unchanged(inputs_.tars[input], *inputs_.files);  // not under the lock: it may take long
  const std::scoped_lock lock(mutex_);
  if (files_[input]) return files_[input];
  if (open_ < most_open_) {
    files_[input] = file;
    ++open_;
  }
  return file;
}

void InputFiles::read(std::size_t input, std::uint64_t offset, MutableBytes out) {
  const std::size_t got = open(input)->read_at(offset, out);
  if (got == out.size()) return;
  const std::string& path = inputs_.tars[input].path;
  throw Error(
      ErrorCode::conflict,
      fmt::format("'{}' ends {} bytes into a member at byte {}: it has changed since its samples were listed or "
                  "indexed; if it has an index in .shardkit, make that again, and reshard into an empty folder",
                  path, got, offset),
      path, offset);
}

class ShardSource::Pending final : public PendingSample {
 public:
  Pending(ShardSource& source, formats::MovedSample sample) : source_(source), sample_(std::move(sample)) {}

  std::size_t tar_bytes() const override { return formats::moved_sample_tar_bytes(sample_); }
  Result<formats::IndexSample> read(MutableBytes out, sync::WaitMeter& meter) override {
    try {
      return source_.read(sample_, out, meter);
    } catch (const Error& error) {
      return error;
    }
  }
  std::string path() const override { return source_.skipped_path(sample_); }

 private:
  ShardSource& source_;
  formats::MovedSample sample_;
};

class ShardSource::Samples final : public ShardSamples {
 public:
  Samples(ShardSource& source, std::size_t shard) : source_(source), lines_(source.plan_, shard) {}

  std::unique_ptr<PendingSample> next() override {
    if (!lines_.next()) return nullptr;
    formats::MovedSample sample;
    if (!formats::parse_moved_sample(lines_.columns(), sample) || sample.input >= source_.inputs_.tars.size()) {
      lines_.unreadable();
    }
    return std::make_unique<Pending>(source_, std::move(sample));
  }

 private:
  ShardSource& source_;
  formats::PlanReader::ShardLines lines_;
};

ShardSource::ShardSource(const formats::PlanReader& plan, const ReshardInputs& inputs, bool drop_bad, unsigned cores)
    : plan_(plan),
      inputs_(inputs),
      drop_bad_(drop_bad),
      files_(inputs, std::min(system::usable_descriptors() / 4, 512U)),
      judge_(drop_bad ? cores : 0) {
  for (const formats::PlanClass& item : plan.head().classes) classes_[item.label].push_back(item.name);
}

std::unique_ptr<ShardSamples> ShardSource::open(std::size_t shard) { return std::make_unique<Samples>(*this, shard); }

/// Starts with the class that the plan counts the sample in, because the manifest takes it off there.
std::string ShardSource::skipped_path(const formats::MovedSample& sample) const {
  const auto of_label = sample.label ? classes_.find(*sample.label) : classes_.end();
  if (of_label == classes_.end()) {
    return sample.path.empty() ? fmt::format("{}/{}", inputs_.tars[sample.input].identity.name, sample.source_key)
                               : sample.path;
  }
  const std::string& counted = of_label->second[formats::class_of_path(sample, of_label->second)];
  return sample.path.starts_with(counted + '/') ? sample.path : fmt::format("{}/{}", counted, sample.source_key);
}

formats::IndexSample ShardSource::read(const formats::MovedSample& sample, MutableBytes out, sync::WaitMeter& meter) {
  if (drop_bad_) check_not_orphan(sample);
  formats::IndexSample result{sample.key, sample.label, sample.path, {}};
  std::uint64_t at = 0;
  for (const formats::MovedMember& member : sample.members) {
    formats::write_ustar_header(out.subspan(at, formats::kTarBlock), fmt::format("{}.{}", sample.key, member.extension),
                                member.size);
    at += formats::kTarBlock;
    const MutableBytes content = out.subspan(at, member.size);
    read_member(sample, member, content, meter);
    if (drop_bad_) check_image(sample, member, content);
    const std::uint64_t hash = xxh3_64(content);
    if (member.xxh3 && *member.xxh3 != hash) {
      const std::string& path = inputs_.tars[sample.input].path;
      throw Error(ErrorCode::conflict,
                  fmt::format("'{}' at byte {}: the content of '{}.{}' is not what the shard's index says; `shardctl "
                              "verify` tells more; if the tar was replaced, make its index again",
                              path, member.offset, sample.source_key, member.extension),
                  path, member.offset);
    }
    result.members.push_back({member.extension, at, member.size, hash});
    const MutableBytes padding = out.subspan(at + member.size, formats::tar_padded(member.size) - member.size);
    std::ranges::fill(padding, std::byte{0});
    at += formats::tar_padded(member.size);
  }
  return result;
}

void ShardSource::read_member(const formats::MovedSample& sample, const formats::MovedMember& member, MutableBytes out,
                              sync::WaitMeter& meter) {
  const auto start = std::chrono::steady_clock::now();
  {
    const sync::WaitMeter::Scope waiting(meter);
    files_.read(sample.input, member.offset, out);
  }
  read_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
}

/// Throws Error{corrupt}, which starts with the code of verify, for an image that verify counts as an error.
void ShardSource::check_image(const formats::MovedSample& sample, const formats::MovedMember& member, Bytes content) {
  if (!is_image_member(member.extension)) return;
  const std::optional<ImageFault> fault = judge_.fault(content, member.extension);
  if (fault && fault->is_error()) {
    drop(sample, member, fault->describe());
  }
}

void ShardSource::check_not_orphan(const formats::MovedSample& sample) const {
  if (!std::ranges::all_of(sample.members, is_side_member, &formats::MovedMember::extension)) return;
  const ProblemKind& kind = problem_kind(ProblemCode::orphan_member);
  drop(sample, sample.members.front(), fmt::format("{}: {}", kind.name, kind.meaning));
}

void ShardSource::drop(const formats::MovedSample& sample, const formats::MovedMember& member,
                       const std::string& why) const {
  const formats::PlanInput& input = inputs_.tars[sample.input].identity;
  throw Error(ErrorCode::corrupt,
              fmt::format("{} ('{}.{}' in '{}' at byte {})", why, sample.source_key, member.extension, input.name,
                          member.offset),
              inputs_.tars[sample.input].path, member.offset);
}

}  // namespace shardkit::dataset
