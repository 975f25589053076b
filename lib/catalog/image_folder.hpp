#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "catalog/sample_fields.hpp"
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

/// A file of a sample other than the one that starts it: a side-car beside that, or one of a declared field.
struct ScannedMember {
  std::uint32_t image = 0;                   ///< index into ScannedClass::files
  std::uint16_t field = 0;                   ///< index into ImageFolderScan::fields
  bool maybe = false;                        ///< the metadata will tell whether it is there
  std::optional<std::uint32_t> number = {};  ///< among those of a field with several
  ScannedFile file;
};

/// What samples of a scan may hold beside the file that starts them.
struct ScannedField {
  std::string name;       ///< extension of the member
  bool required = false;  ///< a sample without it is a bad one
  bool beside = false;    ///< a side-car: its files share the stem of the sample's first
  bool implied = false;   ///< a side-car whose path formats::implied_path() tells
};

struct ScannedClass {
  std::string name;                    ///< of its folder, or its label in a list; empty: its images have no label
  std::string folder;                  ///< that the names are relative to, below the source; empty: the source
  std::optional<std::uint64_t> label;  ///< where a list gives numbers
  std::string names;               ///< NUL-terminated paths relative to `folder`; with a '/' in front, to the source
  std::string versions;            ///< NUL-terminated, of objects; empty for local files
  std::vector<ScannedFile> files;  ///< those that start samples, mostly images: by folder and then name
  std::vector<ScannedMember> members;  ///< by image, then field

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
  bool listed = false;                ///< paths say no class: of a list (image_list.hpp), or without labels
  formats::KeyRule keys = {};         ///< set by choose_keys()
  std::vector<ScannedClass> classes;  ///< by name, bytewise: torchvision's order; of a list with numbers by label
  std::vector<ScanProblem> problems;  ///< by path; the files are in no class
  IgnoredFiles ignored = {};          ///< files that are part of no sample
  std::vector<ScannedField> fields = {};

  std::uint64_t images() const;
  /// False where no class has a name.
  bool labelled() const;
  /// The extension of a member, with its number.
  std::string member_name(const ScannedMember& member) const;
  /// Adds the fields of side-cars with these suffixes.
  void add_sidecar_fields(const std::vector<std::string>& suffixes);
};

struct ScanOptions {
  bool allow_empty = false;                ///< accept classes without images
  unsigned cores = 1;                      ///< the number of threads follows the source's latency (AdaptiveWorkers)
  std::vector<std::string> sidecars = {};  ///< suffixes besides ".json" and ".txt", such as "_mask.png"
  std::vector<FieldTemplate> fields = {};
  std::vector<std::string> primary = {};  ///< extensions of files that start samples; empty: those of images
  bool unlabeled = false;                 ///< folders of a tree are no classes
  std::string set = {};                   ///< folder that the source is in the one that templates count from

  /// Whether a file of this name starts a sample.
  bool is_primary(std::string_view name) const;
};

/// Scans a source. Throws Error{not_found} when the folder is missing or has no class folders or no images at all,
/// Error{denied} for a folder that cannot be read, Error{io} for a failing source, Error{conflict} for a link that
/// leads into itself, Error{corrupt} for an empty class unless allowed. Hidden and system folders are skipped with
/// a warning: torchvision would count them as classes. So are files that macOS hides ("._name"). In a store each class
/// is one listing, several under way. What find_fields() throws.
ImageFolderScan scan_image_folder(const SourceFolder& source, const ScanOptions& options, Context& ctx);

/// The label of each class: what a list says, else its place among those with a name; empty for images without one.
std::vector<std::optional<std::uint64_t>> labels_by_place(const ImageFolderScan& scan);

/// True for file names that end as images do (is_image_extension()).
bool is_image_name(std::string_view name);

}  // namespace shardkit::catalog
