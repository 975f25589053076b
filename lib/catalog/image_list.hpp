#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_folder.hpp"
#include "core/context.hpp"

/// Sources that are no tree of class folders: a file lists the images and their labels.
namespace shardkit::catalog {

struct ImageListOptions {
  std::string file;                  ///< CSV, TSV or JSON Lines (image_table.hpp)
  std::string path_column = "path";  ///< the image's path below the source
  std::string label_column = {};     ///< empty: the images have no labels
  std::string label_separator = {};  ///< between the labels of one image in CSV and TSV; empty: each has one
  /// The numbers of names; where there are any, labels that are numbers are names, too.
  std::map<std::string, std::uint64_t> class_map = {};
};

struct ImageList {
  ImageFolderScan scan;
  /// Images have any number of labels, in a list of JSON or set off by the separator. The scan has no classes then: the
  /// labels are for the .json member (image_notes.hpp).
  bool several_labels = false;
  /// Some image has several rows. Its rows are for the .json member, and it has a label only where all of them agree:
  /// then it is of the bytewise first of their classes, of which a class map may give several one number.
  bool several_rows = false;
};

/// Reads a list and asks for the metadata of its images. A path without an extension, such as an id, is that of the one
/// file of this name that starts a sample; of none, a problem; of two, an error. So is what is no path, no image by its
/// name, or no label, each with file and line. Labels that are all whole numbers stand
/// for themselves; otherwise they are class names, and none of them may look like a number. Side-cars are only those
/// that `scan.sidecars` asks for, where they are there. Throws Error{usage} for columns that are not there,
/// Error{not_found} for a list without images, and what scan_image_folder() throws for a source that fails.
ImageList scan_image_list(const SourceFolder& source, const ImageListOptions& list, const ScanOptions& options,
                          Context& ctx);

/// The parts of a cell between separators; none of an empty cell.
std::vector<std::string> split_labels(std::string_view cell, std::string_view separator);

}  // namespace shardkit::catalog
