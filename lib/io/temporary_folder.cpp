#include "io/temporary_folder.hpp"

#include <cstdlib>
#include <filesystem>

#include "core/error.hpp"

namespace shardkit::io {

std::string temporary_folder() {
  std::string folder = "/tmp";
  for (const char* name : {"TEMPDIR", "TEMP", "TMP", "TMPDIR"}) {  // the last one counts
    if (const char* given = std::getenv(name); given != nullptr && *given != '\0') folder = given;
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return folder;
  throw Error(ErrorCode::not_found, At{folder},
              "the folder for temporary files '{}' does not exist; create it, or set TMPDIR to another one", folder);
}

}  // namespace shardkit::io
