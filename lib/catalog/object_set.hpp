#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "io/object_source.hpp"
#include "net/store_source.hpp"

namespace shardkit::catalog {

/// Looks up each of `names`, up to `concurrency` (at least 1) at a time: what takes the place of a listing where there
/// is none. The answers are in the order of the names, empty for what is not there. Throws the first error of a
/// look-up, Error{cancelled} on a stop.
std::vector<std::optional<io::ObjectInfo>> find_all(io::ObjectSource& source, const std::vector<std::string>& names,
                                                    const std::stop_token& stop, unsigned concurrency = 32);

/// What SRC operands name, wherever it lies.
struct ObjectSet {
  std::unique_ptr<io::ObjectSource> source;  ///< its names are what the objects will be called below a target
  bool listed = false;             ///< the operands name the objects one by one; else all below `source` is meant
  std::vector<std::string> names;  ///< when listed, in the order named, none twice; each passes check_names()
  /// Name within `source` of the manifest that tells the right bytes; empty without one. Of a folder its manifest.json;
  /// of listed objects that of the folder they all lie right in, when it lists all of them.
  std::string manifest;
};

/// Resolves SRC operands, one or more of:
///
/// - a folder: a local one, s3://bucket/prefix, http(s)://host/path; also by the address of its manifest.json.
///   Behind HTTP nothing can be listed: without a manifest, list() of the source says so and what to do.
/// - an object: a local file, s3://bucket/key, an http(s) URL, presigned ones too
/// - a brace pattern, "s3://bucket/x-{000..146}.tar"
/// - a list, *.txt: one path or URL a line; a wids index, *.json. Paths in them are relative to the file; behind HTTP
///   relative URLs, for which the file's login and query hold.
///
/// What patterns and lists name are objects; folders where it ends in '/'.
///
/// Whether s3://bucket/x without a slash behind it is an object: by its ending (.tar and compressed tars, .txt, .json);
/// otherwise when there is one of that key and nothing below "x/". Whether http://host/x is a file: when it ends in a
/// dot and 1 to 8 letters and digits, one of them a letter ("x.idx", not "v1.0").
///
/// Objects of one store are named relative to the deepest folder that holds all of them, unless that is "/" of this
/// machine; objects of several stores by their base names. Several folders, or folders and objects, are merged: each
/// object of a folder has its name there; a folder behind HTTP cannot be among them. What is named twice is taken once,
/// but two objects that would have one name are Error{usage} (in a folder: from list()).
///
/// Only what must be known is asked of the stores: what a list says, whether s3://bucket/x is an object, whether there
/// is a manifest. That objects are there is for the caller to see: find_all(), or list(), whose names it holds against
/// check_names(). A folder of which S3 lists nothing is empty; a bucket that is not there is Error{not_found} of
/// list().
///
/// Throws Error{usage} for operands that name nothing or are no address, Error{not_found} for a local path, list or
/// manifest that is not there, Error{unsupported} for other kinds of address, and what stores throw. No text shows a
/// login or the query of a URL. What waits ends when `stop` is requested, later too, in the source.
ObjectSet open_objects(const std::vector<std::string>& operands, const net::StoreOptions& options,
                       const std::stop_token& stop);

}  // namespace shardkit::catalog
