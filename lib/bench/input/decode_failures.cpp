#include "bench/input/decode_failures.hpp"

#include <fmt/format.h>

#include "core/units.hpp"

namespace shardkit::bench {
namespace {

/// The counts in the order of DecodeFailure, `none` left out.
constexpr std::array kByKind{&DecodeFailures::warned,        &DecodeFailures::truncated,   &DecodeFailures::corrupt,
                             &DecodeFailures::not_jpeg,      &DecodeFailures::zero_pixels, &DecodeFailures::too_large,
                             &DecodeFailures::too_many_scans};
static_assert(kByKind.size() + 1 == kEnumNames<image::DecodeFailure>.size());

}  // namespace

void DecodeFailures::add(image::DecodeFailure failure) {
  if (failure == image::DecodeFailure::none) return;
  ++(this->*kByKind[static_cast<std::size_t>(failure) - 1]);
  if (failure != image::DecodeFailure::warned) ++total;
}

void DecodeFailures::add(const DecodeFailures& other) {
  total += other.total;
  for (const auto kind : kByKind) this->*kind += other.*kind;
}

std::string kinds_text(const DecodeFailures& failures) {
  std::string text;
  for (std::size_t kind = 0; kind < kByKind.size(); ++kind) {
    const std::uint64_t count = failures.*kByKind[kind];
    if (count == 0 || kByKind[kind] == &DecodeFailures::warned) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_count(count),
                        kEnumNames<image::DecodeFailure>[kind + 1]);
  }
  return text;
}

void warn_of_failures(const DecodeFailures& failures, std::uint64_t tried, Context& context) {
  if (failures.total == 0) return;
  context.warn(
      "images_failed",
      fmt::format("{} of {} ({:.1f} %: {}) cannot be decoded and were left out: broken files are quick to "
                  "read and to give up, so that rates are higher than those of whole data; `shardctl verify "
                  "--depth decode` finds them in shards",
                  format_count(failures.total), format_count(tried, "image"),
                  100 * static_cast<double>(failures.total) / static_cast<double>(tried), kinds_text(failures)));
}

void DecodeFailures::describe(FieldVisitor& v) {
  v.field({"total", Unit::count, "images that gave no pixels"}, total);
  v.field({"warned", Unit::count, "decoded, though libjpeg found damage"}, warned);
  v.field({"truncated", Unit::count, "the bytes end before the image does"}, truncated);
  v.field({"corrupt", Unit::count, "libjpeg gave up"}, corrupt);
  v.field({"not_jpeg", Unit::count, "another format, or an empty file"}, not_jpeg);
  v.field({"zero_pixels", Unit::count, "a side of 0 pixels"}, zero_pixels);
  v.field({"too_large", Unit::count, "more than 2^28 pixels"}, too_large);
  v.field({"too_many_scans", Unit::count, "progressive, with more than 500 scans"}, too_many_scans);
}

}  // namespace shardkit::bench
