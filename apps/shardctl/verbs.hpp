#pragma once

#include "cli/app.hpp"

/// The faces of the verbs of shardctl, each in the file of its name: summary, description, examples and text report.
namespace shardkit::apps {

cli::Command synth_command();
cli::Command plan_command();
cli::Command convert_command();
cli::Command parts_command();
cli::Command merge_command();
cli::Command verify_command();
cli::Command reshard_command();
cli::Command index_command();
cli::Command stat_command();
cli::Command ls_command();
cli::Command cat_command();
cli::Command extract_command();
cli::Command stage_command();
cli::Command upload_command();
cli::Command cache_ls_command();
cli::Command cache_warm_command();
cli::Command cache_gc_command();
cli::Command cache_check_command();
cli::Command cache_hold_command();
cli::Command cache_release_command();
cli::Command cache_rm_command();

}  // namespace shardkit::apps
