#pragma once

#include <string>
#include <vector>

#include "catalog/image_folder.hpp"

/// What the folders and file names of a tree mean, read from its structure: files that share their names and differ in
/// kind are the parts of samples, such as images/ and masks/ or a.jpg and a_mask.png. As classes and samples they would
/// lose what belongs together. Numbers as names say nothing.
namespace shardkit::catalog {

/// What speaks against folders as classes, or against files as samples.
struct TreeEvidence {
  enum class Kind {
    parts,     ///< folders side by side contain the parts of samples
    suffixes,  ///< one folder does, under names with suffixes
    wrappers,  ///< class folders have the same folders in them: folds, or sets
  };
  Kind kind;
  bool certain = false;                    ///< else plausible classes and samples have this structure too
  std::string seen = {};                   ///< a sentence with the counts that show it
  std::string parent = {};                 ///< of parts: the folder that contains those below; empty: the source
  std::string images = {};                 ///< the folder with the files that start samples
  std::vector<std::string> others = {};    ///< those with other files of samples; of wrappers: the classes
  std::vector<std::string> sidecars = {};  ///< suffixes that declare these files
  std::vector<std::string> fields = {};    ///< or templates
};

/// What speaks against a scan with sizes; empty for plausible classes.
std::vector<TreeEvidence> read_tree(const ImageFolderScan& scan);

/// The command, for a text, that converts the images of `parts`, whose parent is the source, with the files of the
/// folders beside them, and what it leaves out. Empty if no file there is named as an image, or if a folder contains
/// images that belong to none. `set`: folder for the shards, below DST.
std::string command_for_parts(const SourceFolder& source, const TreeEvidence& parts, const std::string& set);

/// "If they are classes: ..." with the commands that insist on it.
std::string if_classes(const SourceFolder& source);

/// Throws Error{usage} for a class folder without images, with what it contains by kind and count; Error{corrupt} if it
/// contains no file.
[[noreturn]] void refuse_class_without_images(const SourceFolder& source, const ImageFolderScan& scan,
                                              const std::string& folder, const std::string& set);

}  // namespace shardkit::catalog
