#include <doctest/doctest.h>

#include "bench/decode/decode_images.hpp"
#include "bench/input/jpeg_store.hpp"
#include "support/fake_jpeg_decoder.hpp"

using namespace shardkit;
using namespace shardkit::bench;
using namespace shardkit::gpu;
using namespace shardkit::image;
using namespace shardkit::test;
using namespace shardkit_test;

namespace {

std::optional<JpegEngine> engine_of(const std::string& jpeg, bool hardware = true) {
  FakeJpegDecoder decoder({.hardware = hardware});
  const auto route = route_jpeg(decoder, as_bytes(jpeg));
  return route ? std::optional(route->engine) : std::nullopt;
}

}  // namespace

TEST_CASE("a route names the engine and the image's sides") {
  FakeJpegDecoder decoder;
  const std::string jpeg = jpeg_of({}, 3, 40);
  const auto route = route_jpeg(decoder, as_bytes(jpeg));
  REQUIRE(route);
  CHECK(route->engine == JpegEngine::hardware);
  CHECK(route->width == 43);
  CHECK(route->height == 40);
  CHECK(route->bytes() == 43 * 40 * 3);
}

TEST_CASE("without hardware, or of kinds that it does not take, size and coding choose the engine") {
  CHECK(engine_of(progressive_jpeg()) == JpegEngine::hybrid);
  CHECK(engine_of(narrow_chroma_jpeg()) == JpegEngine::hybrid);
  CHECK(engine_of(jpeg_of({}), false) == JpegEngine::hybrid);
  CHECK(software_engine(999'999, true) == JpegEngine::hybrid);
  CHECK(software_engine(1'000'000, true) == JpegEngine::gpu_hybrid);
  CHECK(software_engine(1'000'000, false) == JpegEngine::hybrid);  // the GPU undoes the coding of baseline ones alone
}

TEST_CASE("what no engine takes is the CPU's") {
  CHECK_FALSE(engine_of(cmyk_jpeg()));
  CHECK_FALSE(engine_of(kTinyPng));
  CHECK_FALSE(engine_of(""));
  CHECK_FALSE(engine_of(jpeg_of({}).substr(0, 100)));
}

TEST_CASE("RGB that is stored as such is the CPU's: a GPU would take it for YCbCr") {
  const std::string jpeg = jpeg_of({});
  CHECK_FALSE(engine_of(with_adobe_marker(jpeg, 0)));
  CHECK(engine_of(with_adobe_marker(jpeg, 1)) == JpegEngine::hardware);
  CHECK_FALSE(engine_of(with_rgb_names(jpeg)));
  CHECK(JpegDecoder().decode(as_bytes(with_rgb_names(jpeg))).failure == DecodeFailure::none);
}
