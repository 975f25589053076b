#pragma once

#include <string>

#include "staging/stage_journal.hpp"

/// Staged folders whose journal was lost or cut: their marker still tells which files a stage brought, so that these
/// can be removed or staged again.
namespace shardkit::staging {

/// Adds the files of the staged folder `folder` that its marker counts and `journal` lacks: all files there, if their
/// number and size are the marker's; else those that its manifests list, if these are the marker's. A file that is
/// older than the lock of the folder was there before and counts as found. Hashes of files that no manifest lists are
/// not known. Does nothing if none is missing or the marker does not tell them. Reads only manifests.
void restore_journal(const std::string& folder, const StagedMarker& marker, StageJournal::State& journal);

/// The journal of the staged folder `folder`, restored if it has a marker. Throws like StageJournal::read().
StageJournal::State journal_of(const std::string& folder);

}  // namespace shardkit::staging
