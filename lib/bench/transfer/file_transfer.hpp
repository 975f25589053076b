#pragma once

#include "bench/transfer/transfer.hpp"

namespace shardkit::bench {

/// Throws what transfer_file() throws for a file that it cannot take, before there is a GPU.
void check_transfer_file(const std::string& path);

/// From a file to the GPU's memory: by reading into pinned memory and copying meanwhile, and by cuFile; both past the
/// page cache where the file system allows that, on as many threads, three times each, every byte compared with the
/// file. Throws Error{not_found, denied, io}, Error{usage} for a file of less than a page, Error{corrupt}; where cuFile
/// cannot be had the result says why.
FileTransfer transfer_file(const std::string& path, unsigned threads, gpu::Device& device,
                           const TransferMachine& machine, Context& context);

}  // namespace shardkit::bench
