#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "core/bytes.hpp"
#include "formats/tar_header.hpp"

/// A tar parser that does no input itself: it requests the bytes that it needs next. So one state machine serves a
/// reader that skips the members' content (TarScanner) and one that sees every byte (TarFeed).
///
/// Reads v7, ustar, PAX (path, linkpath, size, global headers), GNU (long names and links, base-256 numbers) and skips
/// old GNU sparse files. Input may be hostile: memory stays below a few MiB, every size is compared with the archive's,
/// and it throws only std::bad_alloc.
namespace shardkit::formats {

/// Properties of one member that cause trouble in some readers.
enum class TarFact : std::uint32_t {
  pax_header = 1U << 0U,         ///< preceded by its own PAX header
  pax_global_header = 1U << 1U,  ///< preceded by a PAX global header
  gnu_long_name = 1U << 2U,      ///< its name, or its link's target, is in a GNU 'L' or 'K' record
  ustar_prefix = 1U << 3U,       ///< part of its name is in the prefix field
  base256_size = 1U << 4U,       ///< its size is stored in binary
  sparse = 1U << 5U,             ///< only the pieces between holes are stored
  truncated = 1U << 6U,          ///< the archive ends within its content
  unreadable_number = 1U << 7U,  ///< Python cannot read a field of its header: TarEntry::unreadable
  times_in_prefix = 1U << 8U,    ///< Python takes GNU times for the start of its name
};

class TarFacts {
 public:
  bool has(TarFact fact) const { return (bits_ & static_cast<std::uint32_t>(fact)) != 0; }
  void add(TarFact fact) { bits_ |= static_cast<std::uint32_t>(fact); }
  bool empty() const { return bits_ == 0; }

 private:
  std::uint32_t bits_ = 0;
};

/// One member. Offsets and sizes in bytes from the start of the archive.
struct TarEntry {
  std::string name;         ///< after prefix, long name and PAX path; a directory keeps the slash at the end
  std::string link_target;  ///< of hard and symbolic links
  TarType type = TarType::regular;
  TarFacts facts;
  std::string_view unreadable;      ///< name of a numeric field that Python cannot read; a constant
  std::uint64_t record_offset = 0;  ///< of the first extended header that belongs to it, else header_offset
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t size = 0;  ///< of the stored content; 0 for directories and links
};

/// Faults of the archive as a whole.
enum class TarFault {
  empty,                ///< empty
  compressed,           ///< gzip, zstd, ...; ends the reading
  not_a_tar,            ///< the first block is not a header; ends the reading
  bad_checksum,         ///< a later block is not a header; ends the reading
  bad_size,             ///< a size that is negative, above 2^63 - 1 or not a number; ends the reading
  bad_extension,        ///< a damaged PAX record; the rest of that header is ignored
  oversized_extension,  ///< a name or link target above 1 MiB; ignored
  truncated,            ///< the archive ends within a header or a member
  missing_end,          ///< no end-of-archive block
  short_end,            ///< one end-of-archive block instead of two
  data_after_end,       ///< something other than zeros follows the end-of-archive blocks; without AfterEnd::go_on it
                        ///< ends the reading
};

struct TarFinding {
  TarFault fault = TarFault::empty;
  std::uint64_t offset = 0;
  std::string text;  ///< what was found and its effect on readers
};

/// What a reader does about data after the end-of-archive blocks.
enum class AfterEnd {
  stop,   ///< as all readers of shards
  go_on,  ///< reads the members of further archives there, as of tars that were put together; the finding comes first
};

class TarParser {
 public:
  enum class Step {
    read,     ///< give wanted() to supply()
    entry,    ///< entry() is complete
    finding,  ///< finding() is complete
    end,      ///< the end
  };
  struct Range {
    std::uint64_t offset = 0;
    std::size_t length = 0;
  };
  /// The largest range that is requested.
  static constexpr std::size_t kMostWanted = 1U << 20U;

  explicit TarParser(std::uint64_t archive_bytes, AfterEnd after_end = AfterEnd::stop);

  /// The next step. Ranges are requested in ascending order, never overlap and never pass archive_bytes. Findings on
  /// the way to an entry come before it.
  Step next();

  /// After Step::read: 1 to kMostWanted bytes.
  Range wanted() const { return wanted_; }
  /// The bytes of wanted(). Fewer mean that the archive ends there.
  void supply(Bytes bytes);

  /// After Step::entry; may be moved from.
  TarEntry& entry() { return entry_; }
  /// After Step::finding.
  const TarFinding& finding() const { return finding_; }

 private:
  enum class State { header, extension, sparse_map, second_zero, trailer, done };
  /// Values of extended headers for the next member, or for all that follow.
  struct Overrides {
    std::optional<std::string> name;
    std::optional<std::string> link_target;
    std::optional<std::uint64_t> size;
    bool sparse = false;
  };

  void want(State state, std::uint64_t offset, std::uint64_t length);
  void find(TarFault fault, std::uint64_t offset, std::string text);
  void stop(TarFault fault, std::uint64_t offset, std::string text);
  bool find_orphaned_extension();
  void archive_ended(State state, std::uint64_t offset);

  void on_header(Bytes block);
  void on_bad_checksum(Bytes block);
  void on_extension_header(const TarHeader& header);
  void on_extension(Bytes content);
  void apply_pax(std::string_view text, bool is_last, Overrides& overrides);
  void apply_record(std::string_view keyword, std::string_view value, Overrides& overrides);
  void keep_start_of_record(std::string_view start);
  void on_member_header(const TarHeader& header);
  void on_sparse_map(Bytes block);
  void finish_member();
  void on_trailer(Bytes bytes);

  std::uint64_t archive_bytes_;
  AfterEnd after_end_;
  State state_ = State::done;
  Range wanted_;
  bool entry_ready_ = false;
  TarEntry entry_;
  TarFinding finding_;
  std::deque<TarFinding> findings_;

  Overrides global_;
  Overrides local_;
  TarFacts pending_facts_;
  std::optional<std::uint64_t> record_offset_;  ///< of the first extended header since the last member
  char extension_type_ = 'x';
  std::uint64_t extension_end_ = 0;      ///< of the content of the extension that is being read
  std::string record_start_;             ///< of a PAX record that continues in the next piece
  std::uint64_t skipped_of_record_ = 0;  ///< bytes to skip before the next PAX record
  std::string_view unreadable_;          ///< in an extended header since the last member
};

}  // namespace shardkit::formats
