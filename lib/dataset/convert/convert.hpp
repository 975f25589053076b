#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/error.hpp"
#include "core/fields.hpp"
#include "dataset/sharding/convert_job.hpp"
#include "dataset/sharding/sharding_options.hpp"
#include "dataset/sharding/split.hpp"
#include "io/file_system.hpp"

namespace shardkit::dataset {

struct ConvertOptions : SplitOptions, WriteOptions {
  std::string source;
  std::string target;
  ShardingOptions sharding;
  std::string plan;
  FileIdentity identity = FileIdentity::mtime;
  bool append = false;
  bool discard = false;

  void describe(FieldList& v);
};

/// Throws Error{usage} for a target inside the source, and for options that a given plan fixes.
void check(const ConvertOptions& options);

/// Images in the shards that have faults which readers accept.
struct AcceptedImages {
  std::string code;
  std::uint64_t images = 0;
  std::vector<std::string> paths;

  void describe(FieldList& v);
};

struct ConvertResult : WrittenSets {
  std::uint64_t samples_before = 0;
  std::uint64_t skipped = 0;
  std::uint64_t kept_bad = 0;
  std::uint64_t resized = 0;
  std::uint64_t resized_at_lower_quality = 0;
  std::string manifest;
  std::string plan_hash;
  std::vector<formats::IndexSkip> skipped_files;
  std::uint64_t bad = 0;
  std::vector<formats::IndexSkip> bad_files;
  std::vector<AcceptedImages> accepted;
  /// Why the set is incomplete although everything else was written: files are bad, or too many were left out.
  std::optional<Error> failure = {};

  void throw_if_failed() const {
    if (failure) throw Error(*failure);
  }
  void describe(FieldList& v);
};

/// ImageFolder tree to WebDataset shards, indexes and manifest: `shardctl convert`. After a kill, the same call
/// continues; the output does not depend on threads, parts or machine. If files are bad, all shards without bad files
/// are written, and the result contains the error that convert() throws.
ConvertResult try_convert(const ConvertOptions& options, Context& context);
ConvertResult convert(const ConvertOptions& options, Context& context);

/// The same with given files, for tests.
ConvertResult convert_on(io::OutputFiles& files, const ConvertOptions& options, Context& context);

}  // namespace shardkit::dataset
