#pragma once

#include "bench/read/read.hpp"

namespace shardkit {

/// `iobench read --mode imagefolder`: lists the folders of options.paths, then opens, stats, reads and closes each file
/// once, in an order drawn by the seed, and says what each kind of call took. The options are checked. Throws
/// Error{usage} for a path that is no folder, Error{not_found} when they hold no files.
ReadResult read_folders(const ReadOptions& options, Context& context);

}  // namespace shardkit
