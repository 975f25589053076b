#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"
#include "core/fields.hpp"
#include "staging/staged_folder.hpp"

namespace shardkit::dataset {

struct CacheLsOptions {
  std::string folder;
  bool files = false;

  void describe(FieldVisitor& v);
};

struct CacheLsLease {
  std::string owner;
  std::string purpose;
  std::string taken_at;
  std::string expires_at;
  bool live = true;
  std::string fault;

  void describe(FieldVisitor& v);
};

struct CacheLsFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldVisitor& v);
};

struct CacheLsFolder {
  std::string path;
  std::string source;
  staging::StagedState state = staging::StagedState::partial;
  std::string fault;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::string last_used;
  std::optional<double> resident_ratio;
  std::vector<CacheLsLease> leases;
  std::vector<CacheLsFile> contents;

  void describe(FieldVisitor& v);
};

struct CacheLsResult {
  std::vector<CacheLsFolder> folders;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t leased_bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldVisitor& v);
};

/// What a node cache, or one staged folder, holds: `shardctl cache ls`. Changes nothing. Throws what cache_folders()
/// throws.
CacheLsResult cache_ls(const CacheLsOptions& options, Context& ctx);

}  // namespace shardkit::dataset
