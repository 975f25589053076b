#include <utility>

#include <fmt/format.h>

#include "catalog/object_location.hpp"
#include "catalog/swapped_operands.hpp"
#include "core/command_text.hpp"
#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/text.hpp"
#include "dataset/bucket/output_location.hpp"
#include "dataset/upload/upload.hpp"
#include "net/store_opener.hpp"
#include "net/url.hpp"

namespace shardkit::dataset {
namespace {

void refuse_swapped(const UploadOptions& options) {
  if (options.sources.size() != 1 || !catalog::is_address(options.sources.front()) ||
      catalog::is_address(options.target))
    return;
  UploadOptions other = options;
  std::swap(other.sources.front(), other.target);
  catalog::throw_swapped(
      options.target,
      fmt::format("'{}' is not a bucket, and '{}' is an address", options.target, without_secrets(other.target)),
      command_text("shardctl upload", other));
}

}  // namespace

void check(const UploadOptions& options) {
  check_ranges(options);
  refuse_swapped(options);
  const net::StoreScheme* scheme = net::find_store_scheme(options.target);
  if (scheme == nullptr || scheme->open_to_write == nullptr) {
    throw usage_error("'{}' is not a bucket; give s3://bucket/prefix or gs://bucket/prefix",
                      without_secrets(options.target));
  }
  scheme->parse(options.target);
  if (!options.clean) require_readable_prefix(options.target);
  if (options.clean && !options.sources.empty()) throw usage_error("--clean uploads nothing: give only the target");
  if (!options.clean && options.sources.empty()) throw usage_error("missing SRC");
  for (const std::string& source : options.sources) {
    if (!catalog::is_address(source)) continue;
    throw usage_error("'{}' is an address; upload reads local files: copy them here with `shardctl stage` first",
                      without_secrets(source));
  }
  if (!options.encryption_key.empty() && options.encryption.empty()) throw usage_error("--sse-kms-key-id needs --sse");
}

net::HttpHeaders headers_of(const UploadOptions& options) {
  net::HttpHeaders headers;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) headers.add(name, value);
  };
  add("x-amz-storage-class", options.storage_class);
  add("x-amz-server-side-encryption", options.encryption);
  add("x-amz-server-side-encryption-aws-kms-key-id", options.encryption_key);
  add("x-amz-acl", options.acl);
  return headers;
}

void UploadOptions::describe(FieldList& v) {
  v.field({"SRC", "files to upload: a folder, a file, a brace pattern, a list of files (*.txt); one or more of these",
           Role::optional_positional},
          sources);
  v.field({"DST", "where to: s3://bucket/prefix or gs://bucket/prefix", Role::positional}, target);
  v.field({"part-size", Unit::bytes,
           "bytes of each part of a larger file, at least 5 MiB; default: 32 MiB, more for files of over 10,000 parts",
           between(5ULL << 20U, 5ULL << 30U)},
          part_bytes);
  v.field({"concurrency", Unit::count,
           "parts in flight, each in memory; default: as many as fit in 192 MiB, at most 32", 'j', between(1, 256)},
          concurrency);
  v.field({"clean",
           "upload nothing; give up what commands that no longer run have left open below DST, and uploads of other "
           "programs that got no part for --older-than, and list them"},
          clean);
  v.field({"older-than", Unit::seconds, "for --clean: the time without a new part, for uploads of other programs"},
          older_than_seconds);
  v.topic("New objects");
  v.field({"storage-class", "storage class, such as STANDARD_IA; default: the bucket's", "CLASS"}, storage_class);
  v.field({"sse", "encryption by the store: AES256 or aws:kms; default: the bucket's", "KIND"}, encryption);
  v.field({"sse-kms-key-id", "key of the store's key service, for --sse aws:kms", "KEY"}, encryption_key);
  v.field({"acl", "canned access control list, such as bucket-owner-full-control", "ACL"}, acl);
  access.describe(v);
}

void UploadResult::describe(FieldList& v) {
  v.field({"files", Unit::count, "files that are at the target now: shards, indexes, manifest and others"}, files);
  v.field({"bytes", Unit::bytes, "bytes of these files"}, bytes);
  v.field({"bytes_sent", Unit::bytes, "bytes that were sent"}, bytes_sent);
  v.field({"bytes_reused", Unit::bytes, "bytes that were at the target already, as their checksums show"},
          bytes_reused);
  v.field({"retries", Unit::count, "requests that were repeated"}, retries);
  v.field(
      {"verified_by",
       "what the objects were compared with: xxhash128, crc64nvme or md5 (ETags) of the store, or their bytes, read "
       "again"},
      verified_by);
  v.field({"aborted", "with --clean: names of the objects whose uploads were given up"}, aborted);
  v.field(
      {"uploads_kept", Unit::count, "with --clean: open uploads of a command that runs, or that got a part recently"},
      uploads_kept);
}

}  // namespace shardkit::dataset
