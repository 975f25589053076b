#include "bench/decode/decode_failures.hpp"

namespace shardkit {
namespace {

/// The counts in the order of DecodeFailure, `none` left out.
constexpr std::array kByKind{&DecodeFailures::warned,        &DecodeFailures::truncated,   &DecodeFailures::corrupt,
                             &DecodeFailures::not_jpeg,      &DecodeFailures::zero_pixels, &DecodeFailures::too_large,
                             &DecodeFailures::too_many_scans};
static_assert(kByKind.size() + 1 == EnumNames<DecodeFailure>::names.size());

}  // namespace

void DecodeFailures::add(DecodeFailure failure) {
  if (failure == DecodeFailure::none) return;
  ++(this->*kByKind[static_cast<std::size_t>(failure) - 1]);
  if (failure != DecodeFailure::warned) ++total;
}

void DecodeFailures::add(const DecodeFailures& other) {
  total += other.total;
  for (const auto kind : kByKind) this->*kind += other.*kind;
}

void DecodeFailures::describe(FieldVisitor& v) {
  v.field({"total", Unit::count, "images that gave no pixels"}, total);
  v.field({"warned", Unit::count, "decoded, though libjpeg found damage"}, warned);
  v.field({"truncated", Unit::count, "the bytes end before the image does"}, truncated);
  v.field({"corrupt", Unit::count, "libjpeg gave up"}, corrupt);
  v.field({"not_jpeg", Unit::count, "another format"}, not_jpeg);
  v.field({"zero_pixels", Unit::count, "a side of 0 pixels"}, zero_pixels);
  v.field({"too_large", Unit::count, "more than 2^28 pixels"}, too_large);
  v.field({"too_many_scans", Unit::count, "progressive, with more than 500 scans"}, too_many_scans);
}

}  // namespace shardkit
