#include "catalog/shard_scan.hpp"

#include <vector>

#include <fcntl.h>

#include "io/file.hpp"

namespace shardkit::catalog {
namespace {

// Stays in a core's own cache between being read, hashed and parsed; the kernel's read-ahead is what fills the pipe.
constexpr std::size_t kBlock = 256U * 1024U;
constexpr unsigned kMembersBetweenChecks = 256;

/// Passes everything on and looks at the stop token now and then.
class StoppableHandler final : public formats::TarHandler {
 public:
  StoppableHandler(formats::TarHandler& inner, const Context& context) : inner_(inner), context_(context) {}
  bool entry(const formats::TarEntry& entry) override {
    if (++members_ % kMembersBetweenChecks == 0) context_.throw_if_stopped();
    return inner_.entry(entry);
  }
  void content(Bytes piece) override { inner_.content(piece); }
  void content_end() override { inner_.content_end(); }
  void finding(const formats::TarFinding& finding) override { inner_.finding(finding); }

 private:
  formats::TarHandler& inner_;
  const Context& context_;
  unsigned members_ = 0;
};

}  // namespace

ShardContent read_shard(const std::string& path, formats::TarHandler& handler, Context& context, Md5Stream* md5) {
  const io::File file = io::File::open_read(path);
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  formats::TarFeed feed(handler, file.size());
  Xxh3Stream hash;
  ShardContent content;
  std::vector<std::byte> block(kBlock);
  while (true) {
    context.throw_if_stopped();
    const std::size_t got = file.read_at(content.bytes, block);
    if (got == 0) break;
    const Bytes bytes = Bytes(block).first(got);
    hash.update(bytes);
    if (md5 != nullptr) md5->update(bytes);
    feed.feed(bytes);
    content.bytes += got;
    context.progress().bytes.fetch_add(got, std::memory_order_relaxed);
  }
  feed.finish();
  content.xxh3_128 = hash.digest();
  return content;
}

void scan_shard(const std::string& path, formats::TarHandler& handler, Context& context) {
  io::FileSource source(path);
  StoppableHandler stoppable(handler, context);
  formats::scan_tar(source, stoppable);
  context.progress().bytes.fetch_add(source.size(), std::memory_order_relaxed);
}

}  // namespace shardkit::catalog
