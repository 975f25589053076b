#pragma once

#include <string>

namespace shardkit::io {

/// The system's temporary folder: TMPDIR, TMP, TEMP or TEMPDIR, or /tmp. Throws Error{not_found} with its path if there
/// is no such folder.
std::string temporary_folder();

}  // namespace shardkit::io
