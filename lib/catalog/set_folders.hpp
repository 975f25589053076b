#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/image_source.hpp"
#include "core/context.hpp"

/// Sources whose folders are not classes.
namespace shardkit::catalog {

/// Whether a folder of this name is a set of a split: train, training, val, valid, validation, dev or test.
bool is_set_name(std::string_view name);
/// Whether it is the one for training.
bool is_train_set(std::string_view name);

/// Sources that contain several sets: train/, val/ and so on, each its own ImageFolder tree.
struct SetFolders {
  std::vector<std::string> names;    ///< such as {"train", "val"}; empty if the source is one set
  std::vector<std::string> classes;  ///< class folders of all sets together, sorted bytewise, with one label each
};

/// Checks whether all visible folders of `root` are named train, val, valid, validation, dev or test, with train and at
/// least one other, and train contains folders. As classes they would give every image of a set the same label. A set
/// without class folders, such as the test images of ImageNet, is left out with a warning. A set that lacks classes of
/// another one causes a warning, because torchvision would number its classes differently. Throws like
/// scan_image_folder() for folders that cannot be listed, and Error{conflict} for a prefix into which an upload has not
/// finished. A set with class folders and images beside them makes none.
/// Without `labeled`, sets need no class folders: images directly in them are enough.
SetFolders find_set_folders(const SourceFolder& source, Context& context, bool labeled = true);

/// Whether a name consists of the words of sets, such as "Val2017", "trainval" or "test_images".
bool is_named_as_set(std::string_view name);

/// How to convert sets of a source that have class folders, in the words of a message.
std::string advice_for_labeled(const SourceFolder& source, const std::vector<std::string>& sets);

/// Throws Error{usage} if a folder of the source is named as a set, or several are when the text that they share is left
/// out ("seg_train", "seg_test"), but find_set_folders() found no sets: as a class, all of a set would get one label.
/// Also if its only folder contains sets. For sources without a class map, which lists the folders that are classes.
/// Without `labeled` several folders named as sets are a warning.
void refuse_unclear_folders(const SourceFolder& source, const SetFolders& found, Context& context, bool labeled);

}  // namespace shardkit::catalog
