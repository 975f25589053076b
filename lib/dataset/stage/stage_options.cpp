#include <algorithm>
#include <filesystem>
#include <memory>
#include <ranges>

#include <fmt/format.h>

#include "catalog/object_set.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "dataset/stage/stage.hpp"
#include "formats/brace_pattern.hpp"
#include "net/retry.hpp"
#include "net/store_opener.hpp"
#include "system/limits.hpp"
#include "system/storage.hpp"

namespace shardkit::dataset {
namespace {

/// A copy into the source or below it would stage itself.
void check_apart(const StageOptions& options) {
  const std::string target = std::filesystem::weakly_canonical(options.target);
  for (const std::string& operand : options.sources) {
    std::error_code error;
    if (!std::filesystem::is_directory(operand, error)) continue;
    if (!system::is_below(target, std::filesystem::canonical(operand))) continue;
    throw Error(ErrorCode::usage, At{options.target}, "the target '{}' is inside the source; choose another folder",
                options.target);
  }
}

constexpr std::uint64_t kMostMemory = 256ULL << 20U;
constexpr unsigned kMostFolderReads = 32;
constexpr std::size_t kMostFailedListed = 1000;
constexpr std::uint64_t kAheadShare = 4;             // connections together receive a quarter of a second ahead
constexpr std::uint64_t kLeastAhead = 32ULL << 10U;  // for each: with less, its rate suffers
constexpr std::uint64_t kLeastBuffer = 4ULL << 10U;
constexpr std::uint64_t kMostBuffer = 1ULL << 20U;

/// Requests that memory and descriptors allow: each has a connection or a source file, and a partial file.
unsigned most_requests(const StageOptions& options, bool remote) {
  const std::uint64_t memory = options.memory.value_or(std::min(kMostMemory, system::usable_memory() / 4));
  const std::uint64_t by_memory = std::max<std::uint64_t>(1, memory / kConnectionBytes);
  const std::uint64_t asked = options.concurrency.value_or(remote ? staging::CopyLimits{}.maximum : kMostFolderReads);
  return static_cast<unsigned>(std::min({asked, by_memory, std::uint64_t{system::most_reads_in_flight(2)}}));
}

}  // namespace

void check(const StageOptions& options) {
  if (options.target.empty()) throw Error(ErrorCode::usage, "DST is empty; give a folder on a local disk");
  check_ranges(options);
  parse_ranks(options.rank, options.world);
  if (options.split && !options.rank) throw Error(ErrorCode::usage, "--split needs --rank");
  if (options.bandwidth == 0) throw Error(ErrorCode::usage, "--bwlimit 0 allows no bytes; leave it out for no limit");
  for (const std::string& peer : options.peers) {
    if (!is_http_url(peer))
      throw usage_error("--peer {} is not an address; give http(s)://node:port/folder", without_secrets(peer));
  }
  check_apart(options);
}

staging::CopyLimits copy_limits(const StageOptions& options, bool remote) {
  staging::CopyLimits limits;
  limits.maximum = most_requests(options, remote);
  const unsigned first = remote ? limits.start : std::max(4U, system::usable_threads());
  limits.start = std::min(first, limits.maximum);
  limits.keep_going = options.keep_going;
  if (options.bandwidth) {
    const std::uint64_t connections = *options.bandwidth / kAheadShare / kLeastAhead;
    limits.maximum = static_cast<unsigned>(std::clamp<std::uint64_t>(connections, 1, limits.maximum));
    limits.start = std::min(limits.start, limits.maximum);
    const auto rate = std::make_shared<net::RateLimit>(*options.bandwidth);
    limits.pace = [rate](std::uint64_t bytes, const std::stop_token& stop) { rate->take(bytes, stop); };
  }
  return limits;
}

/// A peer is in the same cluster, and there is another source: it is given little time.
std::vector<std::unique_ptr<io::ObjectSource>> open_peers(const std::vector<std::string>& patterns,
                                                          net::StoreOptions options, const std::stop_token& stop) {
  options.http.connect_timeout = system::Seconds(3);
  options.http.stall = {256 << 10, system::Seconds(5)};
  options.retry.attempts = 1;
  net::StoreOpener opener(std::move(options));
  std::vector<std::unique_ptr<io::ObjectSource>> peers;
  for (const std::string& pattern : patterns) {
    for (const std::string& address : formats::expand_braces(pattern)) peers.push_back(opener.open(address, stop));
  }
  return peers;
}

staging::StageRequest wanted_of(const catalog::ObjectSet& set, const StageOptions& options, Context& ctx) {
  if (options.manifest == "none" && !set.manifest.empty() && !set.listed && is_http_url(set.source->location())) {
    throw Error(ErrorCode::usage, At{set.source->location()},
                "--manifest none needs a listing, which HTTP does not have; leave it out to stage what "
                "'{}' lists, or give the files as a pattern or a list",
                set.source->address_of(set.manifest));
  }
  staging::StageRequest wanted;
  if (set.listed) wanted.names = set.names;
  wanted.include = options.include;
  wanted.exclude = options.exclude;
  wanted.keep_going = options.keep_going;
  wanted.use_manifests = options.manifest != "none";
  wanted.manifest_problem = set.manifest_problem;
  if (!wanted.use_manifests) return wanted;
  if (!options.manifest.empty()) {
    catalog::Inputs inputs(options.access, ctx);
    wanted.manifest_path = inputs.add_named(options.manifest);
    wanted.manifest_text = inputs.text(wanted.manifest_path);
    return wanted;
  }
  wanted.manifest_name = set.manifest;
  return wanted;
}

std::uint64_t receive_buffer(const StageOptions& options) {
  if (!options.bandwidth) return 0;
  const std::uint64_t connections = copy_limits(options, true).maximum;
  return std::clamp(*options.bandwidth / kAheadShare / connections, kLeastBuffer, kMostBuffer);
}

namespace {

void describe_choice(FieldList& v, StageOptions& options) {
  v.field({"include",
           "copy only shards and other files whose name, relative to SRC, matches this shell pattern; indexes and "
           "manifests follow their shards; may be repeated",
           "GLOB", Misnomers{"only-manifest"}},
          options.include);
  v.field({"exclude",
           "leave out shards and other files whose name, relative to SRC, matches this shell pattern; indexes and "
           "manifests follow their shards; may be repeated",
           "GLOB"},
          options.exclude);
  v.field({"rank", "copy only the shards that these ranks of the job read: all ranks of this node", "R|R-S"},
          options.rank);
  v.field({"world", Unit::count, "ranks of the whole job, for --rank", at_least(1)}, options.world);
  v.field(
      {"split",
       "loader that divides shards among ranks, for --rank: webdataset (default), dali or hf (Hugging Face datasets)"},
      options.split);
}

void describe_speed(FieldList& v, StageOptions& options) {
  v.topic("Speed and memory");
  v.field({"concurrency", Unit::count,
           "maximum number of requests in flight; default: as many as move the most bytes, up to 128 (32 from folders)",
           'j', between(1, 1024)},
          options.concurrency);
  v.field(
      {"memory", Unit::bytes,
       "memory for the buffers of connections, 2 MiB each; default: a quarter of the available memory, at most 256 MiB",
       at_least(kConnectionBytes)},
      options.memory);
  v.field({"bwlimit", Unit::bytes, "limit of bytes per second, all connections together; default: none"},
          options.bandwidth);
  v.field({"jitter", Unit::seconds,
           "wait a random time up to this before the start, so that a thousand nodes do not start at once"},
          options.jitter);
}

}  // namespace

void StageOptions::describe(FieldList& v) {
  v.field({"SRC",
           "shards or other files to stage: a folder, s3://bucket/prefix, http(s)://host/folder, a file or its URL, a "
           "brace pattern, a list of files (*.txt), a wids index (*.json), a manifest.json; one or more of these",
           Role::positional},
          sources);
  v.field({"DST", "target folder on a local disk", Role::positional, kOutputFolder}, target);
  v.field({"peer",
           "take bytes from this copy of SRC first, such as a node cache behind a web server; they are compared with "
           "the manifest of SRC, which delivers what is missing or wrong. A pattern, or repeated, for several",
           "URL", kMayDiffer},
          peers);
  v.topic("What is copied");
  v.field({"manifest",
           "compare the bytes with this manifest instead of the source's own; none: take all files of SRC and pin them "
           "only by size and version",
           Role::input_file, "FILE|none"},
          manifest);
  describe_choice(v, *this);
  share.describe(v);
  describe_speed(v, *this);
  v.topic("What is copied");
  v.field(
      {"validate",
       "how to check files that no manifest lists: store, the checksum that the store reports, if any; "
       "etag: without one also an ETag of 32 digits, taken as MD5, which it is not for files that the store encrypts",
       Alias{"verify"}},
      validate);
  v.field({"keep-going",
           "if a file fails at the source, stage the others and list it; then exit 4 if a repetition does not help, "
           "otherwise 1, without a marker"},
          keep_going);
  v.field(kDryRunOption, dry_run);
  access.describe(v);
}

void FailedFile::describe(FieldList& v) {
  v.field({"path", "path of the file relative to the source"}, path);
  v.field({"code", "code of its error: corrupt, not_found, denied, network or io"}, code);
  v.field({"reason", "its error"}, reason);
}

/// The error is that of a file for which a repetition does not help, if there is one.
void StageResult::take(const std::map<std::string, Error>& failures) {
  if (failures.empty()) return;
  failed = failures.size();
  for (const auto& [name, error] : failures | std::views::take(kMostFailedListed)) {
    failed_files.push_back({name, std::string(error_code_name(error.code())), error.what()});
  }
  const auto permanent =
      std::ranges::find_if(failures, [](const auto& item) { return is_bad_file(item.second.code()); });
  const Error& worst = permanent == failures.end() ? failures.begin()->second : permanent->second;
  failure = Error(worst.code(),
                  fmt::format("{} of {} failed, the others are staged, without a marker: {}", failed,
                              format_count(files, "file"), worst.what()),
                  worst.path());
}

void StageResult::describe(FieldList& v) {
  v.field({"resumed", "what already existed and was kept, such as 4 of 9 files kept; null if nothing"}, resumed);
  v.field({"files_by_others", Unit::count, "files that other stages copied into DST meanwhile"}, files_by_others);
  v.field({"files", Unit::count, "files of the set, or of those that the ranks read: shards, indexes and manifest"},
          files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_fetched", Unit::bytes, "bytes read from the source and from peers"}, bytes_fetched);
  v.field({"bytes_from_peers", Unit::bytes, "bytes of them that came from peers"}, bytes_from_peers);
  v.field(
      {"bytes_reused", Unit::bytes, "bytes that already existed in the target, or that another stage copied meanwhile"},
      bytes_reused);
  v.field({"bytes_per_second", Unit::bytes_per_second,
           "bytes fetched divided by the time of copying them, until they are durable"},
          bytes_per_second);
  v.field({"retries", Unit::count,
           "requests that were repeated, and files fetched twice because their bytes were wrong or changed"},
          retries);
  v.field({"verified",
           "what the shards were compared with: checksum (of a manifest that lists all of them), store_checksum (of "
           "the store, for each file) or size; empty with --dry-run"},
          verified);
  v.field({"verified_at", "when the last of them were compared, RFC 3339; null if an earlier release staged them"},
          verified_at);
  v.field({"files_by_size", Unit::count, "files that no checksum of the source describes: they have the right size"},
          files_by_size);
  v.field({"evicted", "sets that were evicted for this one, also the previous one in DST: folder, bytes, source"},
          evicted);
  v.field({"left_out", Unit::count,
           "shards and other files below the source that the options leave out; indexes follow their shards"},
          left_out);
  v.field({"failed", Unit::count, "files that failed and were left out, with --keep-going"}, failed);
  v.field({"failed_files", "the first 1000 of them"}, failed_files);
  v.field(
      {"manifest_xxh3_128",
       "XXH3-128 of the manifest, as in the marker; without a manifest, that of the list of names, sizes and versions"},
      manifest_xxh3_128);
  v.field({"lease_id", "id of the lease that protects the copy, for cache renew and release; null without one"},
          lease_id);
  v.field({"lease_expires_at", "expiry of this lease, RFC 3339"}, lease_expires_at);
  v.field(kDryRunResult, dry_run);
}

}  // namespace shardkit::dataset
