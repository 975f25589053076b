#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/context.hpp"

/// What a measurement reads: shards, or any files.
namespace shardkit {

struct InputFile {
  std::string path;
  std::uint64_t bytes = 0;
  bool is_shard = false;
  /// Of a shard whose manifest or index says so, of a plain file 1; empty where only reading the shard tells.
  std::optional<std::uint64_t> samples;
};

struct InputSet {
  std::vector<InputFile> files;         ///< in the order named; those of a folder by name
  std::uint64_t bytes = 0;              ///< of all files, more than 0
  std::vector<std::string> operands{};  ///< what they came from, as the user named it; may be empty for a part of a set
};

/// Resolves operands: whatever names shards (catalog/shard_set.hpp), any other file, or a folder of either. Of a folder
/// without shards of its own the shards at any depth are taken, and where there are none all files but hidden ones;
/// links are followed. A .txt or .json is a list of shards only when it reads as one. Throws Error{not_found} when
/// there is nothing to read, Error{usage} for pipes, devices and sockets, Error{cancelled} on a stop.
InputSet find_input(const std::vector<std::string>& operands, Context& context);

/// "'/data/train'", or "'/data/train' and what was named beside it": the user's own words, for messages.
std::string named_text(const InputSet& input);
/// The first of them, or the first file of a set without.
const std::string& first_named(const InputSet& input);

/// The files in an order that is drawn once and for all, so that as many as there is time for are spread over all.
InputSet spread(InputSet input);

/// The first 64 KiB of a text at most, up to the end of the first line that is not empty.
std::string first_line(const std::string& path);
/// True for a wids index; an index of shards is small, what is larger is data.
bool is_shard_index(const std::string& path);

/// Where our index of a shard lies when it has one.
std::string index_path(const InputFile& shard);

}  // namespace shardkit
