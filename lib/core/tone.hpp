#pragma once

namespace shardkit {

/// How the first line of a report is colored.
enum class Tone { neutral, good, unclear, bad };

}  // namespace shardkit
