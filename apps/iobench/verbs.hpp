#pragma once

#include <cstddef>
#include <string>

#include "cli/app.hpp"
#include "cli/command.hpp"
#include "core/context.hpp"

namespace shardkit::bench {

struct CheckpointResult;
struct DecodeResult;
struct EnvResult;
struct ModelResult;
struct PipelineResult;
struct RepeatedReadResult;
struct RunResult;
struct SweepResult;
struct TransferResult;
struct WatchResult;
struct WatchRow;

}  // namespace shardkit::bench

/// The faces of the verbs of iobench, each in the file of its name: summary, description, examples and answer.
namespace shardkit::apps {

cli::Command run_command();
cli::Command env_command();
cli::Command read_command();
cli::Command decode_command();
cli::Command checkpoint_command();
cli::Command pipeline_command();
cli::Command sweep_command();
cli::Command transfer_command();
cli::Command model_command();
cli::Command watch_command();
cli::Command compare_command();
cli::Command aggregate_command();
cli::Command report_command();

/// `iobench checkpoint` in text: first how long training waits, then a row for each mode, and what else was asked for.
cli::Answer answer_checkpoint(const bench::CheckpointResult& result);

/// `iobench decode` in text: first how many images a second, of what and by what; then all fields.
cli::Answer answer_decode(const bench::DecodeResult& result);

/// `iobench env` in text: how many findings there are, each with what was measured, what is normal and what to do, then
/// the machine in a line for each part.
cli::Answer answer_env(const bench::EnvResult& result);

/// The result of `iobench model` as text: the conclusion first, then every number.
cli::Answer answer_model(const bench::ModelResult& result);

/// `iobench pipeline` in text: the stage that sets the pace, rates and utilization, then the stages' threads, epochs
/// and prefetch values as tables.
cli::Answer answer_pipeline(const bench::PipelineResult& result);

/// `iobench read` in text: of a store first whether to stream or to stage, or without a job what it gives; then, as of
/// local files from the start, all fields.
cli::Answer answer_read(const bench::RepeatedReadResult& result);

/// `iobench run` in text: the verdict first, what would close the gap, the table of stages
/// with required, measured and headroom, the DataLoader, hints. `rows`: of the terminal, which decide what is left to
/// --verbose.
cli::Answer answer_run(const bench::RunResult& result, std::size_t rows = cli::kReportRows);

/// `iobench sweep` in text: the settings and the lines that use them, then every curve with its knee. `rows`: of the
/// terminal.
cli::Answer answer_sweep(const bench::SweepResult& result, std::size_t rows = cli::kReportRows);

/// `iobench transfer` in text: the verdict, a table of rates for each GPU, what pinning costs, and the links.
cli::Answer answer_transfer(const bench::TransferResult& result);

/// The names above the columns of watch_line(), for rows like this one; columns without a value are left out, and those
/// that matter less if they do not fit into `width`.
std::string watch_heading(const bench::WatchRow& row, std::size_t width = cli::kReportColumns);

/// An interval as a line for people; "-" stands for a value that is unknown. `shape` is the row whose heading stands
/// above.
std::string watch_line(const bench::WatchRow& row, const bench::WatchRow& shape,
                       std::size_t width = cli::kReportColumns);

/// The end of `iobench watch`: the verdict, its figures, what to do, shares of the time by what was short, and
/// findings. Behind JSON lines it is one more of them, {"event":"verdict",...}, with all of the result but its rows.
cli::Answer answer_watch(const bench::WatchResult& result);

}  // namespace shardkit::apps
