#include "dataset/synth/synth.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/field_tree.hpp"
#include "core/hash.hpp"
#include "core/prng.hpp"
#include "dataset/synth/synth_picture.hpp"
#include "image/image_problem.hpp"
#include "io/file.hpp"
#include "io/file_system.hpp"
#include "io/publish.hpp"
#include "sync/task_group.hpp"
#include "system/limits.hpp"

namespace shardkit::dataset {
namespace {

constexpr std::string_view kMarkerName = ".shardkit-synth";
constexpr std::uint64_t kMaxClasses = 100'000'000;  // eight digits, as ImageNet's names have
constexpr std::uint64_t kMaxPerClass = 100'000'000;

/// Class folders look like ImageNet's, but no such id exists in WordNet.
std::string class_name(std::uint64_t index) { return fmt::format("n{:08}", index); }

/// The content of the marker: equal texts mean that a tree is from the same options. The first number changes whenever
/// the generator does.
std::string marker_text(const SynthOptions& options) {
  return fmt::format("shardkit synth 1\nclasses {}\nper-class {}\nseed {}\n", options.classes, options.per_class,
                     options.seed);
}

/// The name of something in the folder that no synth left there; empty when there is none.
std::string foreign_entry(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::string name = entry.path().filename();
    if (!name.starts_with(kMarkerName) && !name.starts_with(fmt::format(".{}", kMarkerName))) return name;
  }
  if (error) throw system_error(error.value(), "list folder", folder);
  return {};
}

/// Takes `folder` for this call's tree, or refuses.
void claim(io::FileSystem& files, const std::string& folder, const std::string& text) {
  files.create_directories(folder);
  const std::string marker = io::join_path(folder, kMarkerName);
  if (std::filesystem::exists(marker)) {
    if (const std::string found = io::read_text_file(marker); found != text) {
      throw Error(
          ErrorCode::conflict, At{folder},
          "'{}' contains a synth tree made with other options; '{}' lists them. Use the same options or another "
          "folder",
          folder, marker);
    }
    return;
  }
  if (const std::string entry = foreign_entry(folder); !entry.empty()) {
    throw Error(ErrorCode::conflict, At{folder},
                "'{}' already contains '{}', which synth did not create: give a new or empty folder", folder, entry);
  }
  io::publish(files, marker, as_bytes(text));
}

/// The size of an image that an earlier call finished; 0 when it must be made.
std::uint64_t finished_size(const std::string& path) {
  if (!std::filesystem::exists(path)) return 0;
  const std::string bytes = io::read_text_file(path);
  return image::header_problem(as_bytes(bytes), ".jpeg") ? 0 : bytes.size();
}

/// Makes all images; each thread takes the next free one.
class Maker {
 public:
  Maker(const SynthOptions& options, io::FileSystem& files, Context& context)
      : options_(options), files_(files), context_(context), tile_(noise(options.seed)) {}

  void run(unsigned threads) {
    std::vector<std::unique_ptr<SynthPainter>> painters(threads);
    sync::for_each_index(images(), threads, context_.stop_token(), [&](std::size_t index, std::size_t thread) {
      if (!painters[thread]) painters[thread] = std::make_unique<SynthPainter>(tile_);
      const std::uint64_t size = make(*painters[thread], index / options_.per_class, index % options_.per_class);
      bytes_.fetch_add(size, std::memory_order_relaxed);
      context_.progress().items.fetch_add(1, std::memory_order_relaxed);
      context_.progress().bytes.fetch_add(size, std::memory_order_relaxed);
    });
  }

  std::uint64_t images() const { return options_.classes * options_.per_class; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t kept() const { return kept_; }

 private:
  static NoiseTile noise(std::uint64_t seed) {
    Prng prng(seed);
    return NoiseTile(prng);
  }

  std::uint64_t make(SynthPainter& painter, std::uint64_t class_index, std::uint64_t number) {
    const std::string name = class_name(class_index);
    const std::string path = fmt::format("{}/{}_{}.JPEG", io::join_path(options_.target, name), name, number);
    if (const std::uint64_t size = finished_size(path); size != 0) {
      kept_.fetch_add(1, std::memory_order_relaxed);
      return size;
    }
    Prng prng(xxh3_64(as_bytes(fmt::format("{}/{}/{}", options_.seed, class_index, number))));
    const SynthProfile profile = draw_synth_profile(prng);
    const Bytes jpeg = painter.make_jpeg(profile, prng);
    io::AtomicFile file(files_, path);
    file.write(jpeg);
    file.commit_without_sync();
    return jpeg.size();
  }

  const SynthOptions& options_;
  io::FileSystem& files_;
  Context& context_;
  const NoiseTile tile_;
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::uint64_t> kept_{0};
};

}  // namespace

void SynthOptions::describe(FieldList& v) {
  v.field({"DIR", "folder to create; must be new, empty or from an earlier synth", Role::positional, kOutputFolder},
          target);
  v.field({"classes", Unit::count, "number of class folders", between(1, kMaxClasses)}, classes);
  v.field({"per-class", Unit::count, "number of images in each class", between(1, kMaxPerClass)}, per_class);
  v.field({"seed", "seed of all images", "SEED"}, seed);
  v.field(system::threads_field("threads; default: CPUs available to the process"), threads);
}

void SynthResult::describe(FieldList& v) {
  v.field({"images", Unit::count, "images in the tree"}, images);
  v.field({"classes", Unit::count, "class folders in the tree"}, classes);
  v.field({"bytes", Unit::bytes, "size of all images"}, bytes);
  v.field({"images_kept", Unit::count, "images that already existed"}, images_kept);
  v.field({"mean_image_bytes", Unit::bytes, "mean size of an image"}, mean_image_bytes);
  v.field({"images_per_second", Unit::per_second, "images created or found per second"}, images_per_second);
}

SynthResult synth(const SynthOptions& options, Context& context) {
  check_ranges(options);
  const unsigned threads = system::thread_count(options.threads);
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<io::FileSystem> files = io::posix_file_system();
  claim(*files, options.target, marker_text(options));
  for (std::uint64_t i = 0; i < options.classes; ++i) {
    const std::string folder = io::join_path(options.target, class_name(i));
    files->create_directories(folder);
    io::remove_stale_temps(*files, folder);
  }
  Maker maker(options, *files, context);
  context.progress().start("synth", maker.images(), 0, "images");
  maker.run(threads);

  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  const auto images = static_cast<double>(maker.images());
  return {.images = maker.images(),
          .classes = options.classes,
          .bytes = maker.bytes(),
          .images_kept = maker.kept(),
          .mean_image_bytes = static_cast<double>(maker.bytes()) / images,
          .images_per_second = images / elapsed.count()};
}

}  // namespace shardkit::dataset
