#pragma once

#include <string>
#include <vector>

#include "core/context.hpp"

/// Sources that hold several sets: train/, val/ and the like, each an ImageFolder tree of its own.
namespace shardkit {

struct SetFolders {
  std::vector<std::string> names;    ///< such as {"train", "val"}; empty where the source is one set
  std::vector<std::string> classes;  ///< class folders of all sets together, sorted bytewise: one label for each
};

/// Looks whether all visible folders of `root` are called train, val, valid, validation, dev or test, with train and at
/// least one other, and train holds folders. Taken for classes they would give every image of a set one label. A set
/// without class folders, such as the test images of ImageNet, is left out with a warning; so is a set that lacks
/// classes of another warned of, since torchvision would number its classes anew. Throws as scan_image_folder() does
/// for what cannot be listed.
SetFolders find_set_folders(const std::string& root, Context& ctx);

}  // namespace shardkit
