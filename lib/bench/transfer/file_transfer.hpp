#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/machine/gpu_machine.hpp"
#include "core/context.hpp"
#include "core/fields.hpp"
#include "gpu/device.hpp"

/// From a file to GPU memory.
namespace shardkit::bench {

/// How a file gets to the GPU: by reading into pinned memory and copying, or with cuFile.
enum class FileReader { pread, cufile };
constexpr auto enum_names(FileReader) { return std::to_array<std::string_view>({"pread", "cufile"}); }

/// One method from a file to the GPU.
struct FileWay {
  FileReader way = FileReader::pread;
  bool direct = true;
  double transfer_seconds = 0;
  double bytes_per_second = 0;

  void describe(FieldList& v);
};

/// How cuFile's reads were made.
enum class GdsMode { unknown, native, peer_to_peer, compatibility, mixed };
constexpr auto enum_names(GdsMode) {
  return std::to_array<std::string_view>({"unknown", "native", "peer-to-peer", "compatibility", "mixed"});
}

struct FileTransfer {
  std::string path;
  std::uint64_t bytes = 0;
  std::uint64_t block = 0;
  std::uint64_t threads = 0;
  std::optional<std::string> missing;  ///< why there is no row for cuFile
  GdsMode mode = GdsMode::unknown;
  bool registered = false;
  std::vector<FileWay> rows;

  void describe(FieldList& v);
};

/// Throws the errors of transfer_file() for an unsuitable file, before a GPU is opened.
void check_transfer_file(const std::string& path);

/// From a file to GPU memory: by reading into pinned memory while copying, and with cuFile. Both bypass the page cache
/// if the file system allows that, with the same number of threads, three times each, and compare every byte with the
/// file. Throws Error{not_found, denied, io}, Error{usage} for a file of less than a page, Error{corrupt}. If cuFile is
/// not available, the result has the reason.
FileTransfer transfer_file(const std::string& path, unsigned threads, gpu::Device& device, const GpuMachine& machine,
                           Context& context);

}  // namespace shardkit::bench
