#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_folder.hpp"

/// Folders and file names that divide samples into their parts, such as images/ and masks/, or a.jpg and a_mask.png. As
/// classes and samples they would lose what belongs together.
namespace shardkit::catalog {

/// What the words of a folder's name say about it: "val2017" and "val_images" are sets, "masks" and "val_masks" contain
/// annotations, "images" contains images. A name with other words says nothing.
struct FolderName {
  enum class Role { none, images, annotations };
  bool is_set = false;
  Role role = Role::none;
  std::string_view field = {};  ///< of annotations: "mask" for "masks"

  bool is_part() const { return role == Role::annotations || (role == Role::images && !is_set); }
  bool is_only_set() const { return is_set && role != Role::annotations; }
};
FolderName read_folder_name(std::string_view name);

/// The commands that convert the images below `parent`, a folder of the source, together with the files of the folders
/// beside them: one for each folder of images. Empty if no file beside them is named as an image.
std::vector<std::string> commands_for_parts(const SourceFolder& source, const std::string& parent);

/// Files of samples that would be samples of their own, because nobody declared them.
struct UndeclaredFields {
  std::string first;                       ///< path of one of the files
  std::string beside;                      ///< of a file that it belongs to; empty if `folders` are the reason
  std::vector<std::string> folders = {};   ///< side by side, such as a/images and a/masks
  std::vector<std::string> sidecars = {};  ///< suffixes that declare them
  std::vector<std::string> fields = {};    ///< or templates
};

/// Looks for samples in folders with roles side by side, but for classes, and for stems that occur twice, in at least a
/// quarter of the samples, with a suffix such as "_mask".
std::optional<UndeclaredFields> find_undeclared_fields(const ImageFolderScan& scan);

}  // namespace shardkit::catalog
