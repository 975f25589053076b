#include "formats/tar_parser.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace shardkit::formats {
namespace {

constexpr std::size_t kTrailerRead = 64U * 1024U;
constexpr std::string_view kSparseKeywords = "GNU.sparse.";
constexpr char kContinuedVolume = 'M';                // GNU tar --multi-volume
constexpr std::uint64_t kTarRecord = 20 * kTarBlock;  // GNU tar's and POSIX's default
constexpr const char* kDamagedRecord = "a damaged PAX record; readers refuse the shard or ignore the rest";

/// Whether a PAX keyword changes where a member is or what it is called.
bool matters(std::string_view keyword) {
  return keyword == "path" || keyword == "linkpath" || keyword == "size" || keyword.starts_with(kSparseKeywords);
}

}  // namespace

TarParser::TarParser(std::uint64_t archive_bytes, AfterEnd after_end)
    : archive_bytes_(std::min<std::uint64_t>(archive_bytes, std::numeric_limits<std::int64_t>::max())),
      after_end_(after_end) {
  if (archive_bytes_ == 0) {
    stop(TarFault::empty, 0, "the file is empty");
  } else {
    want(State::header, 0, kTarBlock);
  }
}

TarParser::Step TarParser::next() {
  if (!findings_.empty()) {
    finding_ = std::move(findings_.front());
    findings_.pop_front();
    return Step::finding;
  }
  if (std::exchange(entry_ready_, false)) return Step::entry;
  return state_ == State::done ? Step::end : Step::read;
}

void TarParser::supply(Bytes bytes) {
  // A file that shrank while it was read ends here.
  if (bytes.size() < wanted_.length) archive_bytes_ = std::min(archive_bytes_, wanted_.offset + bytes.size());
  switch (state_) {
    case State::header:
      return on_header(bytes);
    case State::extension:
      return on_extension(bytes);
    case State::sparse_map:
      return on_sparse_map(bytes);
    case State::second_zero:
    case State::trailer:
      return on_trailer(bytes);
    case State::done:
      return;
  }
}

void TarParser::want(State state, std::uint64_t offset, std::uint64_t length) {
  state_ = state;
  if (offset >= archive_bytes_) return archive_ended(state, offset);
  wanted_ = {offset, static_cast<std::size_t>(std::min(length, archive_bytes_ - offset))};
}

void TarParser::archive_ended(State state, std::uint64_t offset) {
  state_ = State::done;
  switch (state) {
    case State::header:
      if (find_orphaned_extension()) return;
      return find(TarFault::missing_end, archive_bytes_,
                  "the file ends without end-of-archive blocks; members after this point may have been cut off");
    case State::second_zero:
      return find(TarFault::short_end, archive_bytes_, "the file ends with one end-of-archive block instead of two");
    case State::extension:
    case State::sparse_map:
      return find(TarFault::truncated, offset, "the file ends within an extended header");
    case State::trailer:
    case State::done:
      return;
  }
}

bool TarParser::find_orphaned_extension() {
  if (!record_offset_) return false;
  find(TarFault::truncated, *record_offset_, "the archive ends after an extended header without its member");
  return true;
}

void TarParser::find(TarFault fault, std::uint64_t offset, std::string text) {
  findings_.push_back({fault, offset, std::move(text)});
}

void TarParser::stop(TarFault fault, std::uint64_t offset, std::string text) {
  find(fault, offset, std::move(text));
  state_ = State::done;
}

void TarParser::on_header(Bytes block) {
  const std::uint64_t offset = wanted_.offset;
  if (block.size() < kTarBlock) {
    if (offset == 0) return on_bad_checksum(block);
    return stop(TarFault::truncated, offset, fmt::format("the file ends {} bytes into a header", block.size()));
  }
  TarHeader header;
  switch (read_tar_header(block, header)) {
    case TarHeaderState::zero:
      find_orphaned_extension();
      return want(State::second_zero, offset + kTarBlock, kTarBlock);
    case TarHeaderState::bad_checksum:
      return on_bad_checksum(block);
    case TarHeaderState::bad_size:
      return stop(TarFault::bad_size, offset,
                  "the size in the header is negative or not a number; readers cannot find the members after it");
    case TarHeaderState::good:
      if (header.type == kContinuedVolume && offset == 0) {
        return stop(TarFault::not_a_tar, 0,
                    "this is one of the later volumes of a split archive: unpack all of them with tar --multi-volume");
      }
      return is_tar_extension(header.type) ? on_extension_header(header) : on_member_header(header);
  }
}

void TarParser::on_bad_checksum(Bytes block) {
  const std::uint64_t offset = wanted_.offset;
  if (offset > 0 || has_tar_magic(block)) {
    return stop(TarFault::bad_checksum, offset,
                "the checksum of the tar header expected here is wrong; readers lose everything that follows");
  }
  const std::string_view compression = compression_name(block);
  if (!compression.empty()) {
    return stop(TarFault::compressed, 0,
                fmt::format("this is {} data: readers cannot seek in it and offsets are meaningless", compression));
  }
  const bool is_zip = as_text(block).starts_with("PK\x03\x04");
  if (is_git_lfs_pointer(block)) {
    return stop(TarFault::not_a_tar, 0, "this is a Git LFS pointer, not the tar: fetch it with `git lfs pull`");
  }
  stop(TarFault::not_a_tar, 0,
       is_zip ? "this is a zip archive: unpack it and convert its folder" : "the first block is not a tar header");
}

void TarParser::on_extension_header(const TarHeader& header) {
  const std::uint64_t offset = wanted_.offset;
  const std::uint64_t content = offset + kTarBlock;
  if (!record_offset_) record_offset_ = offset;
  extension_type_ = header.type;
  const bool pax = header.type == 'x' || header.type == 'X';
  pending_facts_.add(pax                  ? TarFact::pax_header
                     : header.type == 'g' ? TarFact::pax_global_header
                                          : TarFact::gnu_long_name);
  if (header.size > archive_bytes_ - content) {
    return stop(TarFault::truncated, offset, "the file ends within an extended header");
  }
  if (unreadable_.empty()) unreadable_ = header.unreadable;
  extension_end_ = content + header.size;
  record_start_.clear();
  skipped_of_record_ = 0;
  const bool is_long_name = header.type == 'L' || header.type == 'K';
  if (is_long_name && header.size > kMostWanted) {
    find(TarFault::oversized_extension, offset, fmt::format("a name of {} bytes is ignored", header.size));
    return want(State::header, content + tar_padded(header.size), kTarBlock);
  }
  if (header.size == 0) return want(State::header, content, kTarBlock);
  want(State::extension, content, std::min<std::uint64_t>(header.size, kMostWanted));
}

void TarParser::on_extension(Bytes content) {
  const std::uint64_t end = wanted_.offset + wanted_.length;
  if (end > archive_bytes_) return archive_ended(State::extension, wanted_.offset);
  const std::string_view text = as_text(content);
  switch (extension_type_) {
    case 'L':
      local_.name = text.substr(0, text.find('\0'));
      break;
    case 'K':
      local_.link_target = text.substr(0, text.find('\0'));
      break;
    case 'g':
      apply_pax(text, end == extension_end_, global_);
      break;
    default:
      apply_pax(text, end == extension_end_, local_);
  }
  if (state_ == State::done) return;
  if (end < extension_end_) {
    return want(State::extension, end, std::min<std::uint64_t>(extension_end_ - end, kMostWanted));
  }
  want(State::header, wanted_.offset + tar_padded(extension_end_ - wanted_.offset), kTarBlock);
}

/// The next piece of a PAX header. A record that continues in the next one is kept until then.
void TarParser::apply_pax(std::string_view text, bool is_last, Overrides& overrides) {
  const std::size_t skipped = std::min<std::uint64_t>(skipped_of_record_, text.size());
  skipped_of_record_ -= skipped;
  const std::string whole = std::exchange(record_start_, {}).append(text.substr(skipped));
  PaxRecords records(whole);
  while (records.next()) {
    apply_record(records.keyword(), records.value(), overrides);
    if (state_ == State::done) return;
  }
  if (records.damaged() && !is_last) return keep_start_of_record(records.unread());
  if (records.damaged() || (is_last && skipped_of_record_ > 0)) {
    find(TarFault::bad_extension, wanted_.offset, kDamagedRecord);
  }
}

/// Of records that do not matter here, such as extended attributes of any size, only the start is looked at.
void TarParser::keep_start_of_record(std::string_view start) {
  constexpr std::size_t kLongestKeyword = 4096;
  std::uint64_t length = 0;
  const std::size_t space = start.find(' ');
  const std::size_t equals = start.find('=');
  const bool has_length = space != std::string_view::npos && parse_number(start.substr(0, space), length);
  if (!has_length || equals == std::string_view::npos || length < start.size()) {
    record_start_ = start;
    if (start.size() < kLongestKeyword) return;
    find(TarFault::bad_extension, wanted_.offset, kDamagedRecord);
    length = start.size() + extension_end_ - wanted_.offset - wanted_.length;
  } else if (matters(start.substr(space + 1, equals - space - 1))) {
    record_start_ = start;
    if (length <= kMostWanted) return;
    find(TarFault::oversized_extension, wanted_.offset, fmt::format("a name of {} bytes is ignored", length));
  }
  record_start_.clear();
  skipped_of_record_ = length - start.size();
}

void TarParser::apply_record(std::string_view keyword, std::string_view value, Overrides& overrides) {
  if (!matters(keyword)) return;
  if (keyword == "path" || keyword == "GNU.sparse.name") {
    overrides.name = value;
  } else if (keyword == "linkpath") {
    overrides.link_target = value;
  } else if (keyword == "size") {
    const auto size = parse_count(value, std::numeric_limits<std::int64_t>::max());
    if (!size) {
      return stop(TarFault::bad_size, wanted_.offset,
                  "the size in the PAX header is negative or not a number; readers cannot find the members after it");
    }
    overrides.size = *size;
  }
  if (keyword.starts_with(kSparseKeywords)) overrides.sparse = true;
}

void TarParser::on_member_header(const TarHeader& header) {
  const std::uint64_t offset = wanted_.offset;
  entry_ = {};
  entry_.facts = std::exchange(pending_facts_, {});
  entry_.header_offset = offset;
  entry_.record_offset = record_offset_.value_or(offset);
  entry_.data_offset = offset + kTarBlock;
  entry_.unreadable = std::exchange(unreadable_, {});
  if (entry_.unreadable.empty()) entry_.unreadable = header.unreadable;
  if (!entry_.unreadable.empty()) entry_.facts.add(TarFact::unreadable_number);
  record_offset_.reset();
  const Overrides local = std::exchange(local_, {});

  const auto& name = local.name ? local.name : global_.name;
  const auto& link = local.link_target ? local.link_target : global_.link_target;
  const auto& size = local.size ? local.size : global_.size;
  if (name) {
    entry_.name = *name;
  } else {
    if (header.times_in_prefix) entry_.facts.add(TarFact::times_in_prefix);
    if (!header.prefix.empty()) {
      entry_.facts.add(TarFact::ustar_prefix);
      entry_.name.append(header.prefix).append("/");
    }
    entry_.name += header.name;
  }
  entry_.type = tar_type(header.type, entry_.name);
  if (entry_.type == TarType::hard_link || entry_.type == TarType::symbolic_link) {
    entry_.link_target = link ? std::string_view(*link) : header.link_target;
  }
  if (stores_tar_content(header.type) && entry_.type != TarType::directory) entry_.size = size.value_or(header.size);
  if (header.base256_size) entry_.facts.add(TarFact::base256_size);
  if (header.type == 'S' || local.sparse || global_.sparse) entry_.facts.add(TarFact::sparse);

  if (header.sparse_continues) return want(State::sparse_map, entry_.data_offset, kTarBlock);
  finish_member();
}

void TarParser::on_sparse_map(Bytes block) {
  if (block.size() < kTarBlock) return archive_ended(State::sparse_map, wanted_.offset);
  entry_.data_offset += kTarBlock;
  if (sparse_map_continues(block)) return want(State::sparse_map, entry_.data_offset, kTarBlock);
  finish_member();
}

void TarParser::finish_member() {
  entry_ready_ = true;
  const std::uint64_t left = archive_bytes_ - std::min(archive_bytes_, entry_.data_offset);
  if (entry_.size > left) {
    entry_.facts.add(TarFact::truncated);
    // GNU tar writes records of 10 KiB, and nothing else tells the first volume from a tar that was cut.
    const bool may_be_volume = left > 0 && archive_bytes_ % kTarRecord == 0;
    return stop(TarFault::truncated, entry_.header_offset,
                fmt::format("a member of {} bytes, of which the file contains {}{}", entry_.size, left,
                            may_be_volume ? "; if it is the first volume of a split archive, unpack all of them with "
                                            "tar --multi-volume"
                                          : ""));
  }
  want(State::header, entry_.data_offset + tar_padded(entry_.size), kTarBlock);
}

/// After the first zero block: whatever follows should be zeros too. GNU tar pads to 10 KiB.
void TarParser::on_trailer(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  const std::size_t data = text.find_first_not_of('\0');
  if (data != std::string_view::npos) {
    stop(TarFault::data_after_end, wanted_.offset + data,
         "data follows the end of the archive (were two tars put together?)");
    if (after_end_ == AfterEnd::go_on) on_header(bytes);
    return;
  }
  if (state_ == State::second_zero && bytes.size() < kTarBlock) {
    return archive_ended(State::second_zero, wanted_.offset);
  }
  want(State::trailer, wanted_.offset + bytes.size(), after_end_ == AfterEnd::stop ? kTrailerRead : kTarBlock);
}

}  // namespace shardkit::formats
