#pragma once

#include <vector>

#include "bench/read/read.hpp"
#include "io/object_source.hpp"

/// `iobench read` of what lies behind a URL, by the client that stages: how many connections give how much, how long
/// the first byte takes, and whether training can stream.
namespace shardkit::bench {

/// Measures what options.paths name, all of it behind URLs. Throws Error{usage} for options that mean nothing to a
/// store, what open_objects() and stores throw, Error{network} when nothing came at all.
ReadResult read_store(const ReadOptions& options, Context& context);

/// The same over objects that were found already. `retries` is told of what `source` repeats.
ReadResult read_objects(io::ObjectSource& source, std::vector<io::ObjectInfo> objects, RetryCount& retries,
                        const ReadOptions& options, Context& context);

}  // namespace shardkit::bench
