#include "dataset/extract/path_claims.hpp"

#include <algorithm>
#include <clocale>
#include <cwchar>
#include <cwctype>

#include <fmt/format.h>

#include "core/hash.hpp"
#include "formats/portable_name.hpp"

namespace shardkit::dataset {
namespace {

std::uint64_t hash_of(const std::string& path) { return xxh3_64(as_bytes(folded(path))); }

constexpr std::size_t kLongestComponent = 255;

}  // namespace

std::string folded(const std::string& path) {
  static const locale_t locale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string text;
  const locale_t before = locale == nullptr ? nullptr : ::uselocale(locale);
  std::mbstate_t state{};
  for (std::size_t at = 0; at < path.size();) {
    wchar_t letter = 0;
    const std::size_t length = std::mbrtowc(&letter, path.data() + at, path.size() - at, &state);
    char bytes[16];
    std::mbstate_t written{};
    const bool is_letter = length > 0 && length <= path.size() - at;
    const std::size_t made =
        is_letter ? std::wcrtomb(bytes, static_cast<wchar_t>(std::towlower(static_cast<std::wint_t>(letter))), &written)
                  : static_cast<std::size_t>(-1);
    if (made == static_cast<std::size_t>(-1)) {
      text += path[at++];
      state = {};
    } else {
      text.append(bytes, made);
      at += length;
    }
  }
  if (before != nullptr) ::uselocale(before);
  return text;
}

void PathHashes::add(const std::string& path) {
  files_.push_back(hash_of(path));
  // The folders of a path are mostly those of the path before.
  std::size_t slash = path.rfind('/');
  for (; slash != std::string::npos && slash > 0; slash = path.rfind('/', slash - 1)) {
    const std::string folder = path.substr(0, slash);
    if (!exact_folders_.insert(xxh3_64(as_bytes(folder))).second) break;
    folders_.insert(hash_of(folder));
  }
}

void PathHashes::add(PathHashes&& other) {
  files_.insert(files_.end(), other.files_.begin(), other.files_.end());
  folders_.merge(other.folders_);
  exact_folders_.merge(other.exact_folders_);
}

void PathHashes::finish() {
  std::ranges::sort(files_);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if ((i > 0 && files_[i] == files_[i - 1]) || folders_.contains(files_[i])) meeting_.insert(files_[i]);
  }
}

bool PathHashes::meets(const std::string& path) const { return meeting_.contains(hash_of(path)); }
bool PathHashes::is_folder(const std::string& path, bool folds_case) const {
  return folds_case ? folders_.contains(hash_of(path)) : exact_folders_.contains(xxh3_64(as_bytes(path)));
}
bool PathHashes::is_free(const std::string& path) const {
  return !is_folder(path, true) && !std::ranges::binary_search(files_, hash_of(path));
}

std::string PathClaims::claim(const std::string& path, const PathClaim& member, const std::string& shard,
                              const std::function<bool(const PathClaim&)>& same) {
  const std::string origin = fmt::format("{}/{}", shard, member.member.name);
  if (hashes_.is_folder(path, folds_case_)) return free_path(path, origin);
  const auto [first, is_new] = first_.try_emplace(folds_case_ ? folded(path) : path, member);
  return is_new || same(first->second) ? path : free_path(path, origin);
}

std::string PathClaims::free_path(const std::string& path, const std::string& origin) {
  const std::size_t name = path.rfind('/') + 1;
  const formats::NameParts parts = formats::split_extension(std::string_view(path).substr(name));
  const std::string extension = parts.extension.empty() ? "" : fmt::format(".{}", parts.extension);
  constexpr std::size_t mark = 9;  // '-' and 8 digits
  const std::size_t room = kLongestComponent - std::min(kLongestComponent, extension.size() + mark);
  const std::string stem = path.substr(0, name) + std::string(parts.stem.substr(0, room));
  for (unsigned attempt = 0;; ++attempt) {
    const std::string text = attempt == 0 ? origin : fmt::format("{}#{}", origin, attempt);
    std::string marked = formats::marked_key(stem, text) + extension;
    if (hashes_.is_free(marked) && given_.insert(folded(marked)).second) return marked;
  }
}

}  // namespace shardkit::dataset
