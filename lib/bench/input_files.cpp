#include "bench/input_files.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "catalog/image_folder.hpp"
#include "catalog/shard_set.hpp"
#include "core/error.hpp"
#include "formats/sample_name.hpp"
#include "formats/shard_index.hpp"
#include "formats/tar_scanner.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit {
namespace {

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

bool holds_shards(const std::string& folder) {
  std::error_code error;
  fs::directory_iterator item(folder, error);
  if (error) throw system_error(error.value(), "list", folder);
  return std::any_of(fs::begin(item), fs::end(item), [](const fs::directory_entry& entry) {
    return entry.path().extension() == ".tar" && !is_hidden(entry.path());
  });
}

/// True for what resolve_shards() takes: not there under this name (a pattern or URL), a tar, or a list of tars.
bool names_shards(const std::string& operand, const fs::file_status& status) {
  if (fs::is_directory(status)) return holds_shards(operand);
  if (!fs::is_regular_file(status)) return !fs::exists(status);
  return operand.find(".tar") != std::string::npos || operand.ends_with(".tgz") || operand.ends_with(".txt") ||
         operand.ends_with(".json");
}

std::string index_path(const InputFile& shard) {
  const fs::path path(shard.path);
  return join_path(parent_folder(shard.path), shard_index_path(path.filename().string()));
}

/// The index of a shard when it is there and speaks of a file of this size.
std::optional<ShardSummary> index_summary(const InputFile& shard) {
  const std::string path = index_path(shard);
  if (!fs::exists(path)) return std::nullopt;
  FileSource source(path);
  const ShardSummary summary = read_shard_summary(source, path);
  if (summary.bytes != shard.bytes) return std::nullopt;
  return summary;
}

class InputFinder {
 public:
  void add(const std::string& operand) {
    std::error_code error;
    const fs::file_status status = fs::status(operand, error);
    if (names_shards(operand, status)) {
      shard_operands_.push_back(operand);
    } else if (fs::is_directory(status)) {
      add_folder(operand);
    } else if (fs::is_regular_file(status)) {
      add_file(operand, fs::file_size(operand));
    } else {
      throw Error(ErrorCode::usage,
                  fmt::format("'{}' is a pipe, socket or device; name files, shards or a folder of them", operand),
                  operand);
    }
  }

  InputSet take() {
    if (!shard_operands_.empty()) add_shards(resolve_shards(shard_operands_));
    return std::move(input_);
  }

 private:
  void add_file(const std::string& path, std::uint64_t bytes) {
    input_.files.push_back({path, bytes, false, 1});
    input_.bytes += bytes;
  }

  void add_folder(const std::string& folder) {
    const std::size_t first = input_.files.size();
    std::error_code error;
    fs::recursive_directory_iterator item(folder, error);
    for (const fs::recursive_directory_iterator end; !error && item != end; item.increment(error)) {
      if (is_hidden(item->path())) {
        item.disable_recursion_pending();
      } else if (std::error_code unreadable; item->is_regular_file(unreadable)) {
        add_file(item->path().string(), item->file_size(unreadable));
      }
    }
    if (error) throw system_error(error.value(), "list", folder);
    if (input_.files.size() == first) {
      throw Error(ErrorCode::not_found, fmt::format("folder '{}' holds no files to read", folder), folder);
    }
    std::sort(input_.files.begin() + static_cast<std::ptrdiff_t>(first), input_.files.end(),
              [](const InputFile& a, const InputFile& b) { return a.path < b.path; });
  }

  void add_shards(const ShardSet& set) {
    input_.has_shards = true;
    for (const ShardFile& shard : set.shards) {
      InputFile file{shard.path, shard.bytes, true, {}};
      if (const auto summary = index_summary(file)) file.samples = summary->samples;
      input_.files.push_back(std::move(file));
      input_.bytes += shard.bytes;
    }
  }

  std::vector<std::string> shard_operands_;
  InputSet input_;
};

/// Collects the samples of one shard from either of its descriptions.
class SampleCollector {
 public:
  SampleCollector(std::uint32_t file, std::vector<SampleRef>& samples) : file_(file), samples_(samples) {}

  template <class Sample>
  void add(const Sample& sample) {
    SampleRef ref;
    ref.file = file_;
    ref.offset = sample.members.front().offset;
    ref.bytes = sample.members.back().offset + sample.members.back().size - ref.offset;
    for (const auto& member : sample.members) {
      if (!is_image_name("." + member.extension)) continue;
      ref.image_offset = member.offset;
      ref.image_bytes = member.size;
      break;
    }
    samples_.push_back(ref);
  }

 private:
  std::uint32_t file_;
  std::vector<SampleRef>& samples_;
};

void list_indexed(const InputFile& shard, SampleCollector& collector) {
  const std::string path = index_path(shard);
  FileSource source(path);
  ShardIndexVisitor visitor;
  visitor.sample = [&](IndexSample&& sample) { collector.add(sample); };
  read_shard_index(source, path, visitor);
}

void list_scanned(const InputFile& shard, SampleCollector& collector, Context& context) {
  FileSource source(shard.path);
  TarScanner scanner(source, [&](const TarFinding& finding) {
    context.warn("damaged_shard", fmt::format("'{}' at byte {}: {}", shard.path, finding.offset, finding.text));
  });
  SampleGrouper grouper;
  TarEntry entry;
  while (scanner.next(entry)) {
    if (const auto sample = grouper.add(entry)) collector.add(*sample);
  }
  if (const auto sample = grouper.finish()) collector.add(*sample);
}

void list_plain(const InputFile& file, std::uint32_t index, std::vector<SampleRef>& samples) {
  const bool image = is_image_name(file.path);
  samples.push_back({index, 0, file.bytes, 0, image ? file.bytes : 0});
}

}  // namespace

InputSet find_input(const std::vector<std::string>& operands) {
  InputFinder finder;
  for (const std::string& operand : operands) finder.add(operand);
  InputSet input = finder.take();
  if (input.files.empty()) throw Error(ErrorCode::usage, "nothing to read was named");
  if (input.bytes == 0) {
    throw Error(
        ErrorCode::not_found,
        fmt::format("nothing to read: all {} files are empty, the first is '{}' (files of /proc and /sys have no "
                    "size)",
                    input.files.size(), input.files.front().path),
        input.files.front().path);
  }
  return input;
}

std::vector<SampleRef> list_samples(const InputSet& input, std::size_t most_shards, Context& context) {
  const auto shards = static_cast<std::size_t>(
      std::count_if(input.files.begin(), input.files.end(), [](const InputFile& file) { return file.is_shard; }));
  const std::size_t taken = std::min(shards, most_shards);
  std::vector<SampleRef> samples;
  std::size_t shard = 0;
  for (std::uint32_t i = 0; i < input.files.size(); ++i) {
    context.throw_if_stopped();
    const InputFile& file = input.files[i];
    if (!file.is_shard) {
      list_plain(file, i, samples);
      continue;
    }
    // Of `shards` take `taken`, evenly: those where the running share passes a whole number.
    const bool take = (shard + 1) * taken / shards > shard * taken / shards;
    ++shard;
    if (!take) continue;
    SampleCollector collector(i, samples);
    if (file.samples) {
      list_indexed(file, collector);
    } else {
      list_scanned(file, collector, context);
    }
  }
  return samples;
}

}  // namespace shardkit
