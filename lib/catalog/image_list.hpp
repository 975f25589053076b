#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"

/// Sources without class folders: a file lists the images and their labels.
namespace shardkit::catalog {

struct ImageListOptions {
  std::string file;                  ///< CSV, TSV or JSON Lines (image_table.hpp)
  std::string path_column = "path";  ///< the image's path below the source
  std::string label_column = {};     ///< empty: the images have no labels
  /// Labels by class name. If there are any, labels that are numbers are names too.
  std::map<std::string, std::uint64_t> class_map = {};
};

struct ImageList {
  ImageFolderScan scan;
  /// Images may have several labels, in a JSON list. Then the scan has no classes: the
  /// labels are for the .json member (image_table.hpp).
  bool several_labels = false;
  /// Some image has several rows. Its rows are for the .json member, and it has a label only if they all agree. A class
  /// map may give several classes one number; the class is then the bytewise first of them.
  bool several_rows = false;
  /// Columns of the first row besides path and label.
  std::vector<std::string> other_columns = {};
};

/// Reads a list and the metadata of its images. A path without an extension, such as an id, means the one file of this
/// name that starts a sample; none is a problem, two are an error. Invalid paths, images or labels are errors with file
/// and line. Labels that are all whole numbers are used as they are; otherwise they are class names, and none may look
/// like a number. Side-cars are only those of `scan.sidecars`, if they exist. Throws Error{usage} for missing columns,
/// Error{not_found} for a list without images, and the errors of scan_image_folder() for a failing source.
ImageList scan_image_list(const SourceFolder& source, const ImageListOptions& list, const ScanOptions& options,
                          Context& context);

}  // namespace shardkit::catalog
