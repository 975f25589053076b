#include <fmt/format.h>

#include "formats/plan_file.hpp"
#include "formats/tsv.hpp"
#include "formats/ustar.hpp"

namespace shardkit {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  append_escaped(out, text);
  return out;
}

}  // namespace

PlanWriter::PlanWriter(ByteSink& sink, const PlanHead& head) : sink_(sink), label_digits_(label_digits(head)) {
  std::string text(head.inputs.empty() ? kPlanMagic : kReshardMagic);
  text += '\n';
  text += fmt::format("name\t{}\n", escaped(head.name));
  if (head.listed) text += "listed\n";
  for (const auto& [name, value] : head.options) text += fmt::format("option\t{}\t{}\n", name, escaped(value));
  for (const PlanClass& item : head.classes) {
    text += fmt::format("class\t{}\t{}\t{}\n", item.label, escaped(item.name), item.samples);
  }
  for (const IndexSkip& skip : head.skipped) {
    text += fmt::format("skip\t{}\t{}\n", escaped(skip.path), escaped(skip.reason));
  }
  put(text);
  identify(text);
  for (const PlanInput& input : head.inputs) {
    put(fmt::format("input\t{}\t{}\t{}\n", escaped(input.name), input.bytes, input.mtime_ns));
  }
  if (head.parts) put(fmt::format("parts\t{}\n", *head.parts));
  put("samples\n");
  identify("samples\n");
}

void PlanWriter::put(std::string_view text) {
  sink_.write(as_bytes(text));
  checksum_.update(as_bytes(text));
  offset_ += text.size();
}

void PlanWriter::identify(std::string_view text) { identity_.update(as_bytes(text)); }

void PlanWriter::begin_shard() {
  shards_.push_back({0, kTarEnd, offset_});
  identify("shard\n");
}

void PlanWriter::add(const PlannedSample& sample) {
  line_ =
      fmt::format("+\t{}\t{}\t", sample.class_index ? fmt::to_string(*sample.class_index) : "-", sample.marked ? 1 : 0);
  append_escaped(line_, sample.stem);
  identity_text_ = line_;
  const auto add_file = [&](const PlannedFile& file) {
    std::string column = "\t";
    append_escaped(column, file.extension);
    column += fmt::format(":{}", file.size);
    identity_text_ += column;
    line_ += column;
    line_ += fmt::format(":{}", file.mtime_ns);
  };
  add_file(sample.image);
  for (const PlannedFile& file : sample.sidecars) add_file(file);
  if (!sample.json.empty()) {
    std::string column = "\t";
    append_escaped(column, sample.json);
    identity_text_ += column;
    line_ += column;
  }
  add_line(line_, identity_text_,
           sample_tar_bytes(sample, sample.class_index ? label_digits_.at(*sample.class_index) : 0));
}

void PlanWriter::add_line(std::string_view line, std::string_view identity, std::uint64_t tar_bytes) {
  identify(identity);
  identify("\n");
  put(line);
  put("\n");
  shards_.back().samples += 1;
  shards_.back().bytes += tar_bytes;
}

Hash128 PlanWriter::finish() {
  const std::uint64_t table = offset_;
  const Hash128 hash = identity_.digest();
  for (const PlanShard& shard : shards_) {
    put(fmt::format("shard\t{}\t{}\t{}\n", shard.offset, shard.samples, shard.bytes));
  }
  const std::string end = fmt::format("end\t{}\t{}\t{}", table, shards_.size(), to_hex(hash));
  put(end);
  put(fmt::format("\t{}\n", to_hex(checksum_.digest())));
  return hash;
}

}  // namespace shardkit
