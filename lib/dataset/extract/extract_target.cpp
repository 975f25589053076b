#include "dataset/extract/extract_target.hpp"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cwchar>
#include <cwctype>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.hpp"
#include "core/remedies.hpp"
#include "formats/portable_name.hpp"
#include "io/file.hpp"
#include "io/publish.hpp"

namespace fs = std::filesystem;

namespace shardkit::dataset {
namespace {

constexpr std::string_view kParent = "../";

/// `name` below the folder of its class.
std::string classed_path(const std::string& folder, const std::string& name) {
  const std::string mapped = formats::portable_component(folder) + "/";  // as convert writes it into keys
  if (name.starts_with(mapped)) return folder + "/" + name.substr(mapped.size());
  if (name.starts_with(folder + "/")) return name;
  return folder + "/" + name;
}

constexpr const char* kStaging = "extract";
constexpr const char* kLock = "extract.lock";
// A power cut costs so much work again; one sync of the file system is shared by as much.
constexpr std::size_t kBatchFiles = 8192;
constexpr std::uint64_t kBatchBytes = 512U << 20U;
constexpr std::size_t kPiece = 1U << 20U;

const std::string& made(io::FileSystem& files, const std::string& path) {
  files.create_directories(path);
  return path;
}

struct Parts {
  std::string folder;
  std::string name;
};

Parts split(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  if (slash == std::string::npos) return {"", name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

bool same_bytes(ByteSource& shard, std::uint64_t offset, ByteSource& file, std::uint64_t size, const Context& context) {
  std::vector<std::byte> block(kPiece);
  std::uint64_t done = 0;
  bool same = true;
  shard.stream(offset, size, [&](Bytes piece) {
    context.throw_if_stopped();
    const MutableBytes there = MutableBytes(block).first(piece.size());
    same = same && file.read_at(done, there) == piece.size() && std::ranges::equal(piece, there);
    done += piece.size();
  });
  return same && done == size;
}

/// Whether `file` has the member's content; by the index's checksum if there is one, which reads no shard.
bool holds(io::FileSource file, ByteSource& shard, const formats::IndexMember& member, const Context& context) {
  if (file.size() != member.size) return false;
  if (!member.xxh3) return same_bytes(shard, member.offset, file, member.size, context);
  try {
    formats::IndexMember stored = member;
    stored.offset = 0;
    read_member(file, file.file().path(), stored, context, [](Bytes) {});
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::corrupt) throw;
    return false;
  }
}

[[noreturn]] void refuse(const io::ContainedFolder& root, const std::string& name) {
  const std::string path = io::join_path(root.path(), name);
  throw Error(ErrorCode::conflict, At{path},
              "'{}' already exists and differs from the file in the shards; nothing is overwritten: choose "
              "another folder, or move it elsewhere",
              path);
}

std::uint64_t hash_of(const std::string& path) { return xxh3_64(as_bytes(folded(path))); }

}  // namespace

Result<std::string> contained_path(std::string_view name) {
  const auto refuse = [](const char* why) { return Error(ErrorCode::corrupt, why); };
  if (name.find('\0') != std::string_view::npos) return refuse("it contains a NUL byte");
  if (name.starts_with('/')) return refuse("it starts at the root");
  std::string path;
  while (!name.empty()) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(slash == std::string_view::npos ? name.size() : slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return refuse("it contains '..'");
    if (part.size() > io::kLongestComponent) return refuse("a part of it is longer than 255 bytes");
    if (path.empty() && part == formats::kStateFolder) return refuse("it is in '.shardkit', which is reserved");
    if (!path.empty()) path += '/';
    path += part;
  }
  if (path.empty()) return refuse("it has no file name");
  if (path.size() > io::kLongestPath) return refuse("it is longer than 4095 bytes");
  return path;
}

MemberPaths::MemberPaths(const std::optional<formats::Manifest>& manifest) {
  if (!manifest) return;
  std::set<std::uint64_t> shared;
  for (const formats::ManifestClass& item : manifest->classes) {
    if (!names_.emplace(item.label, item.name).second) shared.insert(item.label);
  }
  for (const std::uint64_t label : shared) names_.erase(label);  // the class is not known
  const auto source = manifest->options.find("source_folder");
  if (source != manifest->options.end()) source_folder_ = source->second;
}

/// The path of this member in convert's source, below the folder that contains the source and the fields outside of it.
std::string MemberPaths::original_path(const formats::IndexSample& sample, const formats::IndexMember& member) const {
  if (member.path.empty()) {
    return io::join_path(source_folder_, formats::implied_path(sample.path, member.extension));
  }
  std::string path = fs::path(io::join_path(source_folder_, member.path)).lexically_normal();
  while (path.starts_with(kParent)) path.erase(0, kParent.size());
  return path;
}

Result<std::string> MemberPaths::path_of(const formats::IndexSample& sample, const formats::IndexMember& member) const {
  if (member.extension == kLabelExtension) return std::string();
  if (!sample.path.empty()) return contained_path(original_path(sample, member));
  Result<std::string> name = contained_path(member.name);
  if (!name || !sample.label) return name;
  const auto known = names_.find(*sample.label);
  const std::string folder = known == names_.end() ? fmt::to_string(*sample.label) : known->second;
  if (folder.empty() || folder.find('/') != std::string::npos) {
    return Error(ErrorCode::corrupt, "its class in the manifest is not a folder name");
  }
  return contained_path(classed_path(folder, *name));
}

ExtractTarget::ExtractTarget(io::FileSystem& files, const std::string& path) : files_(files), root_(made(files, path)) {
  state_ = *root_.folder(formats::kStateFolder, true);
  lock();
  clear();
  static_cast<void>(*root_.folder(fmt::format("{}/{}", formats::kStateFolder, kStaging), true));
}

/// Takes the lock of a file that still has its name: the extract before may be removing it.
void ExtractTarget::lock() {
  while (true) {
    const std::string path = io::join_path(state_.path(), kLock);
    lock_ = io::File(::openat(state_.fd(), kLock, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666), path);
    if (!lock_) throw system_error(errno, "create", path);
    if (io::try_lock(lock_) == io::LockAttempt::held_elsewhere) {
      throw Error(ErrorCode::conflict, At{root_.path()},
                  "another extract is running in '{}'; wait until it has finished", root_.path());
    }
    struct stat info {};
    if (::fstat(lock_.fd(), &info) != 0 || info.st_nlink > 0) return;
  }
}

ExtractTarget::~ExtractTarget() {
  if (finished_) return;
  try {
    clear();
    files_.remove_below(state_, kLock);
  } catch (...) {  // the next extract removes the rest
  }
  ::rmdir(state_.path().c_str());
}

/// Everything below was made by an extract; remove_all() follows no links.
void ExtractTarget::clear() {
  std::error_code error;
  const std::string path = io::join_path(state_.path(), kStaging);
  fs::remove_all(path, error);
  if (error) throw system_error(error.value(), "remove", path);
}

bool ExtractTarget::folds_case() const {
  struct stat info {};
  return ::fstatat(state_.fd(), "EXTRACT.LOCK", &info, AT_SYMLINK_NOFOLLOW) == 0;
}

io::File ExtractTarget::staging(std::size_t number) const {
  return *root_.folder(fmt::format("{}/{}/{}", formats::kStateFolder, kStaging, number), true);
}

void ExtractTarget::finish() {
  clear();
  files_.remove_below(state_, kLock);
  ::rmdir(state_.path().c_str());  // stays if others have files in it
  files_.sync_all(root_.root());
  finished_ = true;
}

ExtractBatch::ExtractBatch(ExtractTarget& target, std::size_t number, Context& context)
    : target_(target), context_(context), staging_(target.staging(number)) {}

void ExtractBatch::add(ByteSource& shard, const std::string& path, const formats::IndexMember& member,
                       const std::string& name) {
  const Parts parts = split(name);
  if (const auto folder = target_.root().folder(parts.folder, false)) {
    const io::Standing standing = io::standing_at(*folder, parts.name);
    if (standing == io::Standing::other) refuse(target_.root(), name);
    if (standing == io::Standing::file) {
      if (!holds(io::FileSource(io::open_below(*folder, parts.name)), shard, member, context_))
        refuse(target_.root(), name);
      ++kept_;
      return;
    }
  }
  Pending pending{fmt::to_string(next_number_++), name, member.size};
  const auto file = target_.files().create_below(staging_, pending.number);
  read_member(shard, path, member, context_, [&](Bytes piece) { file->write(piece); });
  pending_.push_back(std::move(pending));
  pending_bytes_ += member.size;
  if (pending_.size() == kBatchFiles || pending_bytes_ >= kBatchBytes) publish();
}

void ExtractBatch::publish() {
  if (pending_.empty()) return;
  target_.files().sync_all(target_.root().root());
  for (const Pending& pending : pending_) {
    context_.throw_if_stopped();
    publish(pending);
  }
  pending_.clear();
  pending_bytes_ = 0;
}

void ExtractBatch::publish(const Pending& pending) {
  const Parts parts = split(pending.name);
  const io::File folder = *target_.root().folder(parts.folder, true);
  if (target_.files().rename_new_below(staging_, pending.number, folder, parts.name)) {
    ++written_;
    return;
  }
  // Two samples share a side-car, or two shards a sample.
  if (io::standing_at(folder, parts.name) != io::Standing::file) refuse(target_.root(), pending.name);
  io::FileSource there(io::open_below(folder, parts.name));
  io::FileSource ours(io::open_below(staging_, pending.number));
  if (there.size() != pending.size || !same_bytes(ours, 0, there, pending.size, context_)) {
    refuse(target_.root(), pending.name);
  }
  target_.files().remove_below(staging_, pending.number);
  ++kept_;
}

bool has_size_at(const io::ContainedFolder& root, const std::string& name, std::uint64_t size) {
  const Parts parts = split(name);
  const auto folder = root.folder(parts.folder, false);
  return folder && io::standing_at(*folder, parts.name) == io::Standing::file &&
         io::open_below(*folder, parts.name).size() == size;
}

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
  const std::size_t room = io::kLongestComponent - std::min(io::kLongestComponent, extension.size() + mark);
  const std::string stem = path.substr(0, name) + std::string(parts.stem.substr(0, room));
  for (unsigned attempt = 0;; ++attempt) {
    const std::string text = attempt == 0 ? origin : fmt::format("{}#{}", origin, attempt);
    std::string marked = formats::marked_key(stem, text) + extension;
    if (hashes_.is_free(marked) && given_.insert(folded(marked)).second) return marked;
  }
}

}  // namespace shardkit::dataset
