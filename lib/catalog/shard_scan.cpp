#include "catalog/shard_scan.hpp"

#include "io/file.hpp"

namespace shardkit::catalog {
namespace {

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

ShardContent read_shard(ByteSource& shard, formats::TarHandler& handler, Context& context, Md5Stream* md5) {
  formats::TarFeed feed(handler, shard.size());
  Xxh3Stream hash;
  ShardContent content;
  context.throw_if_stopped();
  content.bytes = shard.stream_all([&](Bytes bytes) {
    hash.update(bytes);
    if (md5 != nullptr) md5->update(bytes);
    feed.feed(bytes);
    context.progress().bytes.fetch_add(bytes.size(), std::memory_order_relaxed);
    context.throw_if_stopped();
  });
  feed.finish();
  content.xxh3_128 = hash.digest();
  return content;
}

ShardContent read_shard(const std::string& path, formats::TarHandler& handler, Context& context, Md5Stream* md5) {
  io::FileSource shard(path);
  return read_shard(shard, handler, context, md5);
}

void scan_shard(ByteSource& shard, formats::TarHandler& handler, Context& context) {
  StoppableHandler stoppable(handler, context);
  formats::scan_tar(shard, stoppable);
  context.progress().bytes.fetch_add(shard.size(), std::memory_order_relaxed);
}

void scan_shard(const std::string& path, formats::TarHandler& handler, Context& context) {
  io::FileSource shard(path);
  scan_shard(shard, handler, context);
}

}  // namespace shardkit::catalog
