#include "formats/tar_parser.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "core/text.hpp"

namespace shardkit::formats {
namespace {

constexpr std::size_t kTrailerRead = 64U * 1024U;

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
  next_header_ = content + tar_padded(header.size);
  if (header.size > kMostWanted) {
    find(TarFault::oversized_extension, offset,
         fmt::format("an extended header of {} bytes; its contents about the next member are ignored", header.size));
    return want(State::header, next_header_, kTarBlock);
  }
  if (header.size == 0) return want(State::header, next_header_, kTarBlock);
  want(State::extension, content, header.size);
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
      apply_pax(text, global_);
      break;
    default:
      apply_pax(text, local_);
  }
  if (state_ != State::done) want(State::header, next_header_, kTarBlock);
}

void TarParser::apply_pax(std::string_view text, Overrides& overrides) {
  PaxRecords records(text);
  while (records.next()) {
    const std::string_view keyword = records.keyword();
    const std::string_view value = records.value();
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
    if (keyword.starts_with("GNU.sparse.")) overrides.sparse = true;
  }
  if (records.damaged()) {
    find(TarFault::bad_extension, wanted_.offset, "a damaged PAX record; readers refuse the shard or ignore the rest");
  }
}

void TarParser::on_member_header(const TarHeader& header) {
  const std::uint64_t offset = wanted_.offset;
  entry_ = {};
  entry_.facts = std::exchange(pending_facts_, {});
  entry_.header_offset = offset;
  entry_.record_offset = record_offset_.value_or(offset);
  entry_.data_offset = offset + kTarBlock;
  record_offset_.reset();
  const Overrides local = std::exchange(local_, {});

  const auto& name = local.name ? local.name : global_.name;
  const auto& link = local.link_target ? local.link_target : global_.link_target;
  const auto& size = local.size ? local.size : global_.size;
  if (name) {
    entry_.name = *name;
  } else {
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
    return stop(TarFault::truncated, entry_.header_offset,
                fmt::format("a member of {} bytes, of which the file contains {}", entry_.size, left));
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
