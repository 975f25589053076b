#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "formats/portable_name.hpp"

/// Scanning a tree as torchvision's ImageFolder reads it (torchvision/datasets/folder.py, find_classes and
/// make_dataset): sorted class folders, recursion below them, links followed, extensions without regard to case.
namespace shardkit::catalog {

/// One file. 24 bytes and its name, so that tens of millions fit in memory.
struct ScannedFile {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;      ///< of an object: where its version begins within ScannedClass::versions
  std::uint32_t name_offset = 0;  ///< of its NUL-terminated path within ScannedClass::names
  formats::KeyMark mark = {};     ///< of its key, set by choose_keys()
};

/// A file beside an image with the same stem: a .json, a .txt, or one that ends as the user says side-cars do.
struct ScannedSidecar {
  std::uint32_t image = 0;  ///< index into ScannedClass::files
  ScannedFile file;
};

struct ScannedClass {
  std::string name;                      ///< of its folder, or its label in a list; empty: its images have no label
  std::string folder;                    ///< that the names are relative to, below the source; empty: the source
  std::optional<std::uint64_t> label;    ///< where a list gives numbers
  std::string names;                     ///< NUL-terminated paths relative to `folder`
  std::string versions;                  ///< NUL-terminated, of objects; empty for local files
  std::vector<ScannedFile> files;        ///< images, by folder and then name
  std::vector<ScannedSidecar> sidecars;  ///< by image, then extension

  std::string_view name_of(const ScannedFile& file) const { return names.data() + file.name_offset; }
  /// Of an object, which may have an empty one; none of a local file.
  std::optional<std::string> version_of(const ScannedFile& file) const;
  /// Keeps what a store says of a file.
  void note(ScannedFile& file, const io::ObjectInfo& object);
  /// Relative to the source.
  std::string path_of(const ScannedFile& file) const;
  /// Keeps a path relative to `folder`, for ScannedFile::name_offset. Throws Error{unsupported} past 4 GiB of names.
  std::uint32_t add_name(std::string_view path);
};

/// A file that cannot become a sample, such as a broken link.
struct ScanProblem {
  std::string path;  ///< relative to the source
  Error error;
};

struct ImageFolderScan {
  bool listed = false;                ///< of a list (image_list.hpp): files lie anywhere below the source
  formats::KeyRule keys = {};         ///< set by choose_keys()
  std::vector<ScannedClass> classes;  ///< by name, bytewise: torchvision's order; of a list with numbers by label
  std::vector<ScanProblem> problems;  ///< by path; the files are in no class
  IgnoredFiles ignored = {};          ///< files that are neither images nor side-cars

  std::uint64_t images() const;
  /// False for a list without labels, or with several for an image: all of it is then one class without a name.
  bool labelled() const { return !listed || !classes.front().name.empty(); }
};

struct ScanOptions {
  bool allow_empty = false;                ///< accept classes without images
  unsigned cores = 1;                      ///< the number of threads follows the source's latency (AdaptiveWorkers)
  std::vector<std::string> sidecars = {};  ///< suffixes besides ".json" and ".txt", such as "_mask.png"
};

/// Scans a source. Throws Error{not_found} when the folder is missing or has no class folders or no images at all,
/// Error{denied} for a folder that cannot be read, Error{io} for a failing source, Error{conflict} for a link that
/// leads into itself, Error{corrupt} for an empty class unless allowed. Hidden and system folders are skipped with
/// a warning: torchvision would count them as classes. So are files that macOS hides ("._name"). In a store each class
/// is one listing, several under way.
ImageFolderScan scan_image_folder(const SourceFolder& source, const ScanOptions& options, Context& ctx);

/// The key that convert gives an image of the scan (docs/formats.md, "Names"). To be called after choose_keys().
std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file);

/// True for file names that end as images do (is_image_extension()).
bool is_image_name(std::string_view name);

/// Chooses how keys are made, and marks images whose keys would be equal. Flat keys where no image lies in a folder
/// below its class and no two are equal; else, or when `nested` says that a set has them, nested ones. Flat ones with
/// marks are those of version 0.1.0, for its sets: when `nested` is false. Throws Error{conflict} in the case, one in
/// four billion, that two marked keys are still equal.
void choose_keys(ImageFolderScan& scan, std::optional<bool> nested = std::nullopt);

}  // namespace shardkit::catalog
