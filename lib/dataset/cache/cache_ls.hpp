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
  bool long_ = false;

  void describe(FieldList& v);
};

struct CacheLsLease {
  std::string owner;
  std::string taken_at;
  std::string expires_at;
  bool live = true;
  bool held = false;
  std::string fault;

  void describe(FieldList& v);
};

struct CacheLsFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::optional<double> resident_ratio;

  void describe(FieldList& v);
};

/// A staged folder, with what only a listing needs.
struct CacheLsFolder : staging::StagedFolder {
  std::string last_used_at = {};
  double age = 0;  ///< seconds since then
  std::uint64_t live_leases = 0;
  std::optional<double> resident_ratio = {};
  std::vector<CacheLsLease> lease_rows = {};
  std::vector<CacheLsFile> contents = {};

  void describe(FieldList& v);
};

struct CacheLsResult {
  std::vector<CacheLsFolder> folders;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t partial_bytes = 0;
  std::uint64_t leased_bytes = 0;
  std::uint64_t evictions = 0;
  std::optional<double> resident_ratio;

  void describe(FieldList& v);
};

/// Lists the content of a node cache or of one staged folder: `shardctl cache ls`. Changes nothing. Throws the errors
/// of cache_folders().
CacheLsResult cache_ls(const CacheLsOptions& options, Context& context);

}  // namespace shardkit::dataset
