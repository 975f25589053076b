#include "dataset/sharding/bad_files.hpp"

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/command_text.hpp"
#include "core/hash.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "formats/tsv.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kMagic = "shardkit-bad\t1\n";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kGone = "-";
constexpr std::string_view kUnreadable = "?";

std::string list_path(const std::string& folder, const std::string& shard) {
  return io::join_path(folder, fmt::format("{}/{}{}", formats::kStateFolder, shard, kBadListEnding));
}

/// The shard whose list has this name, "shard-000007.tar.bad".
std::optional<std::size_t> listed_shard(const std::string& name, const formats::PlanReader& plan) {
  const std::optional<std::uint64_t> number = formats::shard_number(plan.head().name, name);
  if (!number || *number < plan.first_shard() || *number - plan.first_shard() >= plan.shards().size()) return {};
  const std::size_t shard = *number - plan.first_shard();
  return name == plan.shard_name(shard).append(kBadListEnding) ? std::optional(shard) : std::nullopt;
}

bool parse_status(std::string_view text, FileStatus& sight) {
  sight.gone = text == kGone;
  return sight.gone || text == kUnreadable || formats::parse_state(text, sight.state.emplace());
}

/// Columns: state path planned seen reason.
bool parse_bad_file(const std::vector<std::string_view>& columns, BadFile& file) {
  if (columns.size() != 5) return false;
  const auto state = std::ranges::find(kEnumNames<BadState>, columns[0]);
  if (state == kEnumNames<BadState>.end()) return false;
  file.state = static_cast<BadState>(state - kEnumNames<BadState>.begin());
  return formats::unescape(columns[1], file.path) && formats::parse_state(columns[2], file.planned) &&
         parse_status(columns[3], file.seen) && formats::unescape(columns[4], file.reason);
}

std::string line_of(const BadFile& file) {
  std::string line(enum_name(file.state));
  line += '\t';
  formats::append_escaped(line, file.path);
  line += '\t';
  formats::append_state(line, file.planned);
  line += '\t';
  if (file.seen.state) {
    formats::append_state(line, *file.seen.state);
  } else {
    line += file.seen.gone ? kGone : kUnreadable;
  }
  line += '\t';
  formats::append_escaped(line, file.reason);
  return line;
}

/// Between the first line and the last, which has XXH3-64 of the lines without their newlines.
std::vector<BadFile> read_bad_files(io::OutputFiles& outputs, const std::string& path) {
  const auto opened = outputs.open(path);
  ByteSource& source = *opened;
  const auto damaged = [&](std::uint64_t offset) {
    throw Error(ErrorCode::corrupt, At{path, offset},
                "'{}' is damaged at byte {}; restore it from a copy, or convert into an empty folder", path, offset);
  };
  const std::string magic = formats::read_text(source, 0, kMagic.size());
  if (magic != kMagic) damaged(0);
  formats::LineReader lines(source, kMagic.size(), source.size());
  std::vector<BadFile> files;
  std::vector<std::string_view> columns;
  Xxh3Stream hash;
  for (std::string_view line; lines.next(line);) {
    formats::split_columns(line, columns);
    std::uint64_t checksum = 0;
    if (columns.size() == 2 && columns[0] == kEnd && parse_hex(columns[1], checksum)) {
      if (checksum != hash.digest64() || lines.next_offset() != source.size()) damaged(lines.line_offset());
      return files;
    }
    hash.update(as_bytes(line));
    if (!parse_bad_file(columns, files.emplace_back())) damaged(lines.line_offset());
  }
  damaged(source.size());
  return files;
}

bool is_same_status(const FileStatus& one, const FileStatus& other, FileIdentity identity) {
  if (one.state && other.state) return is_same_file(*one.state, *other.state, identity);
  return one.gone == other.gone && !one.state && !other.state;
}

}  // namespace

std::vector<BadFile> bad_files_of(io::OutputFiles& files, const std::string& folder, const std::string& shard) {
  const std::string path = list_path(folder, shard);
  return files.exists(path) ? read_bad_files(files, path) : std::vector<BadFile>();
}

std::string files_by_reason(const std::vector<BadFile>& files, std::uint64_t all, const std::string& lists) {
  constexpr std::size_t most_named = 3;
  constexpr std::size_t most_reasons = 20;
  std::map<std::string, std::vector<const BadFile*>> by_reason;
  for (const BadFile& file : files) by_reason[file.fault.text.empty() ? file.reason : file.fault.text].push_back(&file);
  std::string text;
  std::uint64_t counted = 0;
  std::size_t reasons = 0;
  for (const auto& [reason, of_reason] : by_reason) {
    if (++reasons > most_reasons) break;
    counted += of_reason.size();
    if (of_reason.size() == 1) {
      text += of_reason.front()->reason + "; ";
      continue;
    }
    text += fmt::format("{}{} ({})", reason, of_reason.front()->fault.details, format_count(of_reason.size(), "file"));
    for (std::size_t i = 0; i < std::min(most_named, of_reason.size()); ++i)
      text += fmt::format("{} '{}'", i == 0 ? ":" : ",", of_reason[i]->path);
    text += of_reason.size() > most_named ? ", ...; " : "; ";
  }
  if (all > counted) text += fmt::format("and {} more; ", format_count(all - counted));
  if (!lists.empty() && files.size() > most_named) text += fmt::format("see {}; ", shell_word(lists));
  return text;
}

std::string first_of(const std::vector<std::string>& paths, std::uint64_t all) {
  constexpr std::size_t most = 3;
  const std::size_t shown = std::min(most, paths.size());
  return fmt::format("'{}'{}", fmt::join(paths | std::views::take(most), "', '"),
                     all > shown ? fmt::format(" and {} more", format_count(all - shown)) : "");
}

bool is_same_file(const catalog::FileState& one, const catalog::FileState& other, FileIdentity identity) {
  return identity == FileIdentity::size ? one.size == other.size : one == other;
}

bool KnownBadFile::is_left_out(FileIdentity identity) const {
  return listed.state == BadState::left_out && is_same_status(now, listed.seen, identity);
}

FileStatus source_status(const catalog::SourceFolder& images, const std::string& path) {
  if (images.store) {
    const std::optional<io::ObjectInfo> object = images.store->find(path);
    if (!object) return {.gone = true};
    return {.state = catalog::FileState{object->size, 0, object->version}};
  }
  try {
    const io::File file = io::File::open_read(images.opened_path(path), O_NONBLOCK);  // a pipe does not block
    const struct stat info = file.info();
    if (!S_ISREG(info.st_mode)) return {};
    return {.state = catalog::FileState{static_cast<std::uint64_t>(info.st_size), io::mtime_ns(info)}};
  } catch (const Error& error) {
    if (!is_bad_file(error.code())) throw;
    // A link that leads nowhere is still there.
    return {.gone = !std::filesystem::is_symlink(images.opened_path(path)) && error.code() == ErrorCode::not_found};
  }
}

void keep_bad_files(io::OutputFiles& files, const std::string& folder, const std::string& shard,
                    const std::vector<BadFile>& bad) {
  const std::string path = list_path(folder, shard);
  if (bad.empty()) {
    if (files.exists(path)) files.remove(path);
    return;
  }
  std::string text(kMagic);
  Xxh3Stream hash;
  for (const BadFile& file : bad) {
    const std::string line = line_of(file);
    hash.update(as_bytes(line));
    text += line + '\n';
  }
  text += fmt::format("{}\t{}\n", kEnd, to_hex(hash.digest64()));
  io::publish(files, path, as_bytes(text));
}

Amendments find_amendments(const ShardTarget& target, const catalog::SourceFolder& images, FileIdentity identity) {
  Amendments found;
  io::OutputFiles& files = target.files();
  const bool has_manifest = files.exists(target.path_of(formats::kManifestName));
  for (const std::string& name : files.names_in(target.state_path(""))) {
    const std::optional<std::size_t> shard = listed_shard(name, target.plan());
    if (!shard) continue;
    const bool finished = target.finished(*shard, FinishedBy::size).has_value();
    bool reopen = false;
    for (BadFile& listed : read_bad_files(files, target.state_path(name))) {
      FileStatus now = source_status(images, listed.path);
      if (finished && !is_same_status(now, listed.seen, identity)) {
        // In a finished set it is refused as any file of the plan.
        if (listed.state == BadState::corrected && has_manifest) continue;
        reopen = true;
      }
      std::string path = listed.path;
      found.files.emplace(std::move(path), KnownBadFile{std::move(listed), std::move(now)});
    }
    if (reopen) found.reopened.push_back(*shard);
  }
  return found;
}

}  // namespace shardkit::dataset
