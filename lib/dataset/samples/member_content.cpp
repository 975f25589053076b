#include "dataset/samples/member_content.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/hash.hpp"

namespace shardkit {

void read_member(const File& shard, const ListedMember& member, const Context& ctx,
                 const std::function<void(Bytes)>& take) {
  constexpr std::uint64_t kPiece = 1U << 20U;
  const auto fail = [&](ErrorCode code, std::string_view why) {
    throw Error(code, fmt::format("member '{}' of shard '{}' {}", member.name, shard.path(), why), shard.path(),
                member.offset);
  };
  if (!member.plain) fail(ErrorCode::unsupported, "is a sparse file, whose content is not stored in one piece");
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(kPiece, member.size)));
  Xxh3Stream64 hash;
  for (std::uint64_t done = 0; done < member.size;) {
    ctx.throw_if_stopped();
    const auto wanted = static_cast<std::size_t>(std::min(kPiece, member.size - done));
    const Bytes piece = Bytes(buffer).first(shard.read_at(member.offset + done, MutableBytes(buffer).first(wanted)));
    if (piece.size() < wanted) fail(ErrorCode::corrupt, "is cut: the file ends within it");
    if (member.xxh3) hash.update(piece);
    take(piece);
    done += wanted;
  }
  if (member.xxh3 && hash.digest() != *member.xxh3) {
    fail(ErrorCode::corrupt, "has another checksum than its index says; `shardctl verify` tells how much is damaged");
  }
}

}  // namespace shardkit
