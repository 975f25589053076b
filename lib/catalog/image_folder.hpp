#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "catalog/sample_fields.hpp"
#include "core/context.hpp"
#include "core/error.hpp"
#include "formats/portable_name.hpp"

/// Scans a tree like torchvision's ImageFolder (torchvision/datasets/folder.py, find_classes and make_dataset): sorted
/// class folders, recursion below them, links followed, extensions without regard to case.
namespace shardkit::catalog {

/// One file. 24 bytes and its name, so that tens of millions fit in memory.
struct ScannedFile {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;      ///< of an object: start of its version in ScannedClass::versions
  std::uint32_t name_offset = 0;  ///< of its NUL-terminated path in ScannedClass::names
  formats::KeyMark mark = {};     ///< of its key, set by choose_keys()
};

/// A file of a sample other than the one that starts it: a side-car next to it, or one of a declared field.
struct ScannedMember {
  std::uint32_t image = 0;                   ///< index into ScannedClass::files
  std::uint16_t field = 0;                   ///< index into ImageFolderScan::fields
  bool maybe = false;                        ///< its metadata will show whether it exists
  std::optional<std::uint32_t> number = {};  ///< position in a field with several files
  ScannedFile file;
};

/// Fields that samples of a scan may have besides the file that starts them.
struct ScannedField {
  std::string name;       ///< extension of the member
  bool required = false;  ///< a sample without it is a bad one
  bool beside = false;    ///< a side-car: its files share the stem of the sample's first
  bool implied = false;   ///< a side-car whose path formats::implied_path() gives
};

struct ScannedClass {
  std::string name;                    ///< name of its folder, or its label in a list; empty: its images have no label
  std::string folder;                  ///< folder of the names, below the source; empty: the source
  std::optional<std::uint64_t> label;  ///< if a list has numbers
  std::string names;               ///< NUL-terminated paths relative to `folder`, or with a '/' in front, to the source
  std::string versions;            ///< NUL-terminated, of objects; empty for local files
  std::vector<ScannedFile> files;  ///< those that start samples, mostly images: by folder and then name
  std::vector<ScannedMember> members;  ///< by image, then field

  std::string_view name_of(const ScannedFile& file) const { return names.data() + file.name_offset; }
  /// Version of an object, which may be empty; none for a local file.
  std::optional<std::string> version_of(const ScannedFile& file) const;
  FileState state_of(const ScannedFile& file) const;
  /// Stores the metadata from a store.
  void note(ScannedFile& file, const io::ObjectInfo& object);
  /// Relative to the source.
  std::string path_of(const ScannedFile& file) const;
  /// Stores a path relative to `folder`, for ScannedFile::name_offset. Throws Error{unsupported} for more than 4 GiB of
  /// names.
  std::uint32_t add_name(std::string_view path);
};

/// A file that cannot become a sample, such as a broken link.
struct ScanProblem {
  std::string path;  ///< relative to the source
  Error error;
  /// Files that are not there or cannot be read, which a plan can contain nevertheless; empty: the plan has to change.
  std::vector<std::string> unread = {};
};

struct ImageFolderScan {
  bool listed = false;                ///< paths contain no class: from a list (image_list.hpp), or without labels
  std::vector<ScannedClass> classes;  ///< by name, bytewise, like torchvision; for a list with numbers by label
  std::vector<ScanProblem> problems;  ///< by path; these files are in no class
  IgnoredFiles ignored = {};          ///< files that belong to no sample
  std::vector<ScannedField> fields = {};

  std::uint64_t images() const;
  /// False if no class has a name.
  bool labeled() const;
  /// The extension of a member, with its number.
  std::string member_name(const ScannedMember& member) const;
  /// Adds the fields of side-cars with these suffixes.
  void add_sidecar_fields(const std::vector<std::string>& suffixes);
};

struct ScanOptions {
  bool allow_empty = false;                ///< accept classes without images
  unsigned cores = 1;                      ///< the number of threads follows the source's latency (LatencyPool)
  std::vector<std::string> sidecars = {};  ///< suffixes in addition to ".json" and ".txt", such as "_mask.png"
  std::vector<FieldTemplate> fields = {};
  std::vector<std::string> primary = {};  ///< extensions of files that start samples; empty: image extensions
  bool unlabeled = false;                 ///< folders of a tree are not classes
  std::string set = {};                   ///< folder of the source within the one that templates are relative to

  /// Whether a file of this name starts a sample.
  bool is_primary(std::string_view name) const;
};

/// Scans a source. Throws Error{not_found} if the folder is missing or has no class folders or no images, Error{denied}
/// for a folder that cannot be read, Error{io} for a failing source, Error{conflict} for a link that leads into itself,
/// Error{corrupt} for an empty class unless allowed. Hidden and system folders are skipped with a warning, although
/// torchvision would count them as classes. Files that macOS hides ("._name") are skipped too. In a store each class is
/// one listing, with several in parallel. Also throws the errors of find_fields().
ImageFolderScan scan_image_folder(const SourceFolder& source, const ScanOptions& options, Context& context);

/// The label of each class: from a list, else its position among those with a name; empty for images without one.
std::vector<std::optional<std::uint64_t>> labels_by_position(const ImageFolderScan& scan);

/// True for file names with an image extension (is_image_extension()).
bool is_image_name(std::string_view name);

/// The key of the sample that a file starts. Requires choose_keys().
std::string image_key(const ImageFolderScan& scan, const ScannedClass& owner, const ScannedFile& file);

/// The same without mark, so that it does not depend on other files: what --split decides by.
std::string unmarked_key(const ScannedClass& owner, const ScannedFile& file);

/// Marks images whose keys would be equal, also of several classes. Throws Error{conflict} if two marked keys are still
/// equal, which happens once in four billion cases.
void choose_keys(ImageFolderScan& scan);

/// Calls `work` for each index below `count`, on as many threads as a slow source requires. Rethrows its first
/// exception; throws Error{cancelled} on a stop.
void for_each_waiting(std::size_t count, unsigned cores, Context& context,
                      const std::function<void(std::size_t)>& work);

/// Reads size and time of every file of a scan, many in parallel. Files that cannot be read are removed and become
/// problems, except for members that are only `maybe` there: those are just removed. Throws Error for a failing source.
void read_metadata(const SourceFolder& source, ImageFolderScan& scan, unsigned cores, Context& context);

/// Removes images from a scan, with their other files.
void drop_images(ImageFolderScan& scan, const std::function<bool(const ScannedClass&, const ScannedFile&)>& judge);

/// Removes images for which `judge` reports a fault from a scan, with their other files; they become problems.
using FileJudge = std::function<std::optional<ScanProblem>(const ScannedClass&, const ScannedFile&)>;
void leave_out(ImageFolderScan& scan, const FileJudge& judge);

}  // namespace shardkit::catalog
