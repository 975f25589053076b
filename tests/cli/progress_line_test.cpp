#include <doctest/doctest.h>

#include "cli/progress.hpp"

using shardkit::cli::ProgressLine;
using shardkit::cli::ProgressSample;
using Style = shardkit::cli::ProgressLine::Style;

namespace {

ProgressSample reading(std::uint64_t items, std::uint64_t bytes = 0, std::uint64_t bytes_total = 0) {
  return {"read", items, 1000, bytes, bytes_total};
}

}  // namespace

TEST_CASE("nothing is shown before a command says what it does") {
  ProgressLine line(Style::bar);
  CHECK(line.update({}, 0).empty());
  CHECK(line.clear().empty());
}

TEST_CASE("a bar is redrawn in place with share, count, rate and time to go") {
  ProgressLine line(Style::bar);
  CHECK(line.update(reading(0), 0) == "\rread [------------------------] 0 %  0/1,000\x1b[K");
  CHECK(line.update(reading(250), 5) == "\rread [######------------------] 25 %  250/1,000  50/s  ETA 15 s\x1b[K");
  CHECK(line.clear() == "\r\x1b[K");
  CHECK(line.clear().empty());
}

TEST_CASE("a bar moves ten times a second at most") {
  ProgressLine line(Style::bar);
  CHECK_FALSE(line.update(reading(0), 0).empty());
  CHECK(line.update(reading(1), 0.05).empty());
  CHECK_FALSE(line.update(reading(2), 0.1).empty());
}

TEST_CASE("elsewhere a plain line comes every five seconds, without escape sequences") {
  ProgressLine line(Style::plain);
  CHECK(line.update(reading(0), 0).empty());
  CHECK(line.update(reading(400), 4.9).empty());
  CHECK(line.update(reading(500), 5) == "read 50 %  500/1,000  100/s  ETA 5 s\n");
  CHECK(line.update(reading(600), 9.9).empty());
  CHECK_FALSE(line.update(reading(600), 10).empty());
  CHECK(line.clear().empty());
}

TEST_CASE("a JSON line comes in the rhythm of plain lines and holds the numbers themselves") {
  ProgressLine line(Style::json);
  CHECK(line.update({"re\"ad", 0, 1000, 0, 9}, 0).empty());
  CHECK(line.update({"re\"ad", 400, 1000, 6, 9}, 4.9).empty());
  const std::string text = line.update({"re\"ad", 500, 1000, 7, 9}, 5);
  CHECK(text.starts_with("{\"time\":\""));
  CHECK(text.ends_with(R"(Z","level":"info","event":"progress","phase":"re\"ad","items":500,"items_total":1000,)"
                       "\"bytes\":7,\"bytes_total\":9,\"stage\":0,\"stages\":0}\n"));
  CHECK(line.clear().empty());
}

TEST_CASE("known bytes decide over share and time to go") {
  ProgressLine line(Style::plain);
  line.update(reading(0, 0, 4000), 0);
  CHECK(line.update(reading(900, 1000, 4000), 10) == "read 25 %  900/1,000  90/s  100 B/s  ETA 30 s\n");
}

TEST_CASE("a phase that starts with work already done counts its rate from there") {
  ProgressLine line(Style::plain);
  line.update(reading(500), 0);
  CHECK(line.update(reading(600), 10) == "read 60 %  600/1,000  10/s  ETA 40 s\n");
}

TEST_CASE("a phase that is run again starts its rate again") {
  ProgressLine line(Style::plain);
  line.update(reading(0), 0);
  line.update(reading(900), 90);
  ProgressSample again = reading(100);
  again.starts = 1;
  line.update(again, 100);
  again.items = 300;
  CHECK(line.update(again, 110) == "read 30 %  300/1,000  20/s  ETA 35 s\n");
}

TEST_CASE("the rate of items has their name") {
  ProgressLine line(Style::plain);
  ProgressSample now = reading(0);
  now.noun = "images";
  line.update(now, 0);
  now.items = 500;
  CHECK(line.update(now, 5) == "read 50 %  500/1,000  100 images/s  ETA 5 s\n");
}

TEST_CASE("a command with several stages shows which one it is in") {
  ProgressLine line(Style::plain);
  ProgressSample now = reading(0);
  now.stage = 2;
  now.stages = 4;
  line.update(now, 0);
  now.items = 500;
  CHECK(line.update(now, 5) == "stage 2 of 4: read 50 %  500/1,000  100/s  ETA 5 s\n");
  now.stages = 1;
  CHECK(line.update(now, 10).starts_with("read 50 %"));
}

TEST_CASE("a phase with a time budget shows the elapsed share of it, and the time until its end") {
  ProgressLine line(Style::bar);
  ProgressSample now{"decode", 0, 0, 0, 0, "images", 20};
  CHECK(line.update(now, 0) == "\rdecode [------------------------] 0 %  ETA 20 s\x1b[K");
  now.items = 2000;
  CHECK(line.update(now, 5) == "\rdecode [######------------------] 25 %  2,000 images  400 images/s  ETA 15 s\x1b[K");
  CHECK(line.update(now, 30).find("100 %") != std::string::npos);
}

TEST_CASE("with a budget and a total, the one that ends first counts") {
  ProgressLine line(Style::plain);
  ProgressSample now = reading(0);
  now.budget_seconds = 100;
  line.update(now, 0);
  now.items = 500;
  CHECK(line.update(now, 10) == "read 50 %  500/1,000  50/s  ETA 10 s\n");
  now.budget_seconds = 12;
  CHECK(line.update(now, 15).find("100 %") != std::string::npos);
}

TEST_CASE("rate and time to go are those of the last ten seconds") {
  ProgressLine line(Style::bar);
  for (std::uint64_t second = 0; second <= 20; ++second) line.update(reading(second * 20), static_cast<double>(second));
  for (std::uint64_t second = 21; second < 31; ++second)
    line.update(reading(400 + (second - 20) * 2), static_cast<double>(second));
  CHECK(line.update(reading(422), 31).find("422/1,000  2/s  ETA 4 min 50 s") != std::string::npos);
}

TEST_CASE("on a narrow terminal the bar becomes shorter, then goes, then the text is cut") {
  ProgressLine line(Style::bar);
  line.update(reading(0), 0);
  CHECK(line.update(reading(250), 5, 52) == "\rread [###---------] 25 %  250/1,000  50/s  ETA 15 s\x1b[K");
  CHECK(line.update(reading(500), 10, 46) == "\rread 50 %  500/1,000  50/s  ETA 10 s\x1b[K");
  CHECK(line.update(reading(250), 11, 20) == "\rread 25 %  250/1,00\x1b[K");
}

TEST_CASE("a new phase starts its rate again") {
  ProgressLine line(Style::plain);
  line.update(reading(0), 0);
  line.update(reading(1000), 100);
  ProgressSample sync{"sync", 0, 10, 0, 0, "", 0, 1};
  line.update(sync, 105);
  sync.items = 5;
  CHECK(line.update(sync, 110) == "sync 50 %  5/10  1/s  ETA 5 s\n");
}

TEST_CASE("without totals there is neither share nor time to go, and more than all is still 100 %") {
  ProgressLine line(Style::plain);
  line.update({"scan", 0, 0, 0, 0}, 0);
  CHECK(line.update({"scan", 5000, 0, 0, 0}, 5) == "scan  5,000  1,000/s\n");
  ProgressLine bar(Style::bar);
  CHECK(bar.update({"scan", 20, 10, 0, 0}, 0).find("100 %") != std::string::npos);
}

TEST_CASE("a sample takes what the command wrote") {
  shardkit::Progress progress;
  progress.expect_stages(2);
  progress.next_stage();
  progress.start("write", 7, 9, "images");
  progress.items = 3;
  const ProgressSample now = shardkit::cli::sample(progress);
  CHECK(now.phase == "write");
  CHECK(now.items == 3);
  CHECK(now.items_total == 7);
  CHECK(now.bytes_total == 9);
  CHECK(now.noun == "images");
  CHECK(now.starts == 1);
  CHECK(now.stage == 1);
  CHECK(now.stages == 2);
  progress.start_for("decode", 30);
  CHECK(shardkit::cli::sample(progress).budget_seconds == 30);
  CHECK(shardkit::cli::sample(progress).items_total == 0);
}
