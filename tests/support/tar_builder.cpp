#include "support/tar_builder.hpp"

#include <numeric>

#include <fmt/format.h>

namespace shardkit::test {
namespace {

constexpr std::size_t kBlock = 512;

void put(std::string& block, std::size_t offset, std::string_view text) { block.replace(offset, text.size(), text); }

}  // namespace

std::string tar_header(const RawHeader& header) {
  std::string block(kBlock, '\0');
  put(block, 0, header.name);
  put(block, 100, "0000644");
  put(block, 108, "0000000");
  put(block, 116, "0000000");
  put(block, 124, header.size_field ? *header.size_field : fmt::format("{:011o}", header.size));
  put(block, 136, "00000000000");
  block[156] = header.type;
  put(block, 157, header.link_target);
  put(block, 257, header.magic);
  put(block, 345, header.prefix);
  fix_checksum(block, 0);
  return block;
}

void fix_checksum(std::string& archive, std::size_t header_offset) {
  put(archive, header_offset + 148, "        ");
  const std::string_view block = std::string_view(archive).substr(header_offset, kBlock);
  const unsigned sum = std::accumulate(block.begin(), block.end(), 0U,
                                       [](unsigned total, char c) { return total + static_cast<unsigned char>(c); });
  put(archive, header_offset + 148, std::string_view(fmt::format("{:06o}", sum) + std::string("\0 ", 2)));
}

std::string pax_record(std::string_view keyword, std::string_view value) {
  const std::size_t body = keyword.size() + value.size() + 3;
  std::size_t length = body + 1;
  while (length != body + fmt::format_int(length).size()) ++length;
  return fmt::format("{} {}={}\n", length, keyword, value);
}

TarBuilder& TarBuilder::file(const std::string& name, std::string_view content) {
  return member({.name = name}, content);
}

TarBuilder& TarBuilder::member(RawHeader header, std::string_view content) {
  if (header.size == 0) header.size = content.size();
  bytes_ += tar_header(header);
  bytes_ += content;
  bytes_.resize((bytes_.size() + kBlock - 1) / kBlock * kBlock, '\0');
  return *this;
}

TarBuilder& TarBuilder::pax(const std::vector<std::pair<std::string, std::string>>& records, char type) {
  std::string text;
  for (const auto& [keyword, value] : records) text += pax_record(keyword, value);
  return member({.name = "PaxHeaders/0", .type = type}, text);
}

TarBuilder& TarBuilder::gnu_long(const std::string& text, char type) {
  return member({.name = "././@LongLink", .type = type, .magic = kGnuMagic}, text + '\0');
}

TarBuilder& TarBuilder::sample(const std::string& key, std::string_view image, std::string_view label) {
  return file(key + ".jpg", image).file(key + ".cls", label);
}

TarBuilder& TarBuilder::raw(std::string_view bytes) {
  bytes_ += bytes;
  return *this;
}

TarBuilder& TarBuilder::end(std::size_t blocks) {
  bytes_.append(blocks * kBlock, '\0');
  return *this;
}

}  // namespace shardkit::test
