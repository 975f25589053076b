#include "io/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"

namespace shardkit::io {

std::string temporary_folder() {
  const char* given = std::getenv("TMPDIR");
  const std::string folder = given != nullptr && *given != '\0' ? given : "/tmp";
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return folder;
  throw Error(ErrorCode::not_found, At{folder},
              "the folder for temporary files '{}' does not exist; create it, or set TMPDIR to another one", folder);
}

}  // namespace shardkit::io
