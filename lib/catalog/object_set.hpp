#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "io/object_source.hpp"
#include "net/store_opener.hpp"

namespace shardkit::catalog {

/// Looks up each of `names`, up to `concurrency` (at least 1) in parallel, instead of a listing. The results are in the
/// order of the names, empty for missing ones. Throws the first error of a look-up, Error{cancelled} on a stop.
std::vector<std::optional<io::ObjectInfo>> find_all(io::ObjectSource& source, const std::vector<std::string>& names,
                                                    const std::stop_token& stop, unsigned concurrency = 32);

/// The objects of SRC operands, local or remote.
struct ObjectSet {
  std::unique_ptr<io::ObjectSource> source;  ///< its names are the names of the objects below a target
  bool listed = false;             ///< the operands list the objects one by one; otherwise all below `source` are meant
  std::vector<std::string> names;  ///< if listed, in the given order, without duplicates; each passes check_names()
  /// Name within `source` of the manifest with the checksums; empty without one. For a folder its manifest.json; for
  /// listed objects that of the folder they are all directly in, if it lists any of them.
  std::string manifest;
  std::string manifest_problem;  ///< not empty: the reason why nobody knows whether there is one
};

/// The location of a source that consists of several: "s3://bucket/train and 2 more". Staged markers and journals have
/// it as their source (docs/explain/formats.md, "Staged marker").
std::string location_of_several(std::string_view first, std::uint64_t more);
/// Whether location_of_several() returned it.
bool is_location_of_several(std::string_view location);

/// Resolves SRC operands, one or more of:
///
/// - a folder: a local one, s3://bucket/prefix, http(s)://host/path; also by the address of its manifest.json. HTTP
/// cannot list: without a manifest, list() of the source fails with what to do.
/// - an object: a local file, s3://bucket/key, an http(s) URL, also a presigned one
/// - a brace pattern, "s3://bucket/x-{000..146}.tar"
/// - a list, *.txt: one path or URL per line; a wids index, *.json. Paths in them are relative to the file; behind HTTP
/// relative URLs, with the file's login and query.
///
/// Entries of patterns and lists are objects; folders if they end in '/'.
///
/// Whether s3://bucket/x without a slash at the end is an object: by its extension (.tar and compressed tars, .txt,
/// .json); otherwise if there is an object with that key and none below "x/". Whether http://host/x is a file: if it
/// ends in a dot and 1 to 12 letters and digits, one of them a letter ("x.idx", not "v1.0").
///
/// Objects of one store are named relative to the deepest folder that contains all of them, unless that is "/" of this
/// machine; objects of several stores by their base names. Several folders, or folders and objects, are merged in
/// the given order: each object of a folder has its name there; a folder behind HTTP is not possible. Duplicates are
/// used once, but two objects with the same name are Error{usage} (in a folder: from list()).
///
/// Only necessary requests are sent: the content of a list, whether s3://bucket/x is an object, whether there is a
/// manifest. The caller checks whether objects exist: with find_all(), or list(), whose names it checks with
/// check_names(). A folder for which S3 lists nothing is empty; a missing bucket is Error{not_found} from list().
///
/// Throws Error{usage} for operands that list nothing or are not an address, Error{not_found} for a missing local path,
/// list or manifest, Error{unsupported} for other kinds of address, and the errors of stores. No message contains a
/// login or the query of a URL. Waits end when `stop` is requested, also later in the source.
ObjectSet open_objects(const std::vector<std::string>& operands, const net::StoreOptions& options,
                       const std::stop_token& stop);

}  // namespace shardkit::catalog
