#pragma once

#include "cli/app.hpp"

/// The faces of the verbs of shardctl, each in the file of its name: summary, description, examples and text report.
namespace shardkit {

Command synth_command();
Command plan_command();
Command convert_command();
Command merge_command();
Command verify_command();
Command reshard_command();
Command index_command();
Command stat_command();
Command ls_command();
Command cat_command();
Command extract_command();
Command stage_command();
Command cache_ls_command();
Command cache_warm_command();
Command cache_gc_command();
Command cache_check_command();
Command cache_release_command();

}  // namespace shardkit
