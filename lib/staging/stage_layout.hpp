#pragma once

/// Names below a staged folder (docs/formats.md, "Staged folder"). All of them lie in `.shardkit`.
namespace shardkit {

constexpr const char* kStateFolderPath = ".shardkit";
constexpr const char* kStagedMarkerPath = ".shardkit/staged.json";
constexpr const char* kStagedMarkerLockPath = ".shardkit/staged.lock";
constexpr const char* kStageJournalPath = ".shardkit/stage.journal";
constexpr const char* kStageLockPath = ".shardkit/stage.lock";
constexpr const char* kPartialFolderPath = ".shardkit/staging";
constexpr const char* kLeaseFolderPath = ".shardkit/leases";

/// So many folders below a node cache staged folders are looked for.
constexpr int kDeepestStagedFolder = 4;

}  // namespace shardkit
