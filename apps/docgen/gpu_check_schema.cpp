#include "gpu_check_schema.hpp"

namespace shardkit::apps {

std::string gpu_check_schema() {
  return R"json({
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "what scripts/check-gpu measured of a GPU: check-gpu --json FILE",
 "type": "object",
 "properties": {
  "schema": {"const": "shardkit/gpu-check"},
  "schema_version": {"const": 1},
  "tool": {"type": ["object", "null"], "description": "name, version and commit of iobench; null where no step answered"},
  "started_at": {"type": "string", "description": "UTC, as ISO 8601"},
  "elapsed_seconds": {"type": "number", "minimum": 0},
  "host": {
   "type": "object",
   "properties": {
    "name": {"type": "string"},
    "kernel": {"type": "string"},
    "cpus": {"type": ["integer", "null"], "minimum": 1}
   },
   "required": ["name", "kernel", "cpus"],
   "additionalProperties": false
  },
  "status": {"enum": ["ok", "findings", "failed"], "description": "findings: a bar was missed; failed: there is no GPU, or a signal came"},
  "exit_code": {"enum": [0, 3, 4, 129, 130, 143]},
  "error": {"type": ["string", "null"], "description": "why no GPU can be measured"},
  "bars": {
   "type": "array",
   "description": "what was wanted and measured; empty without a GPU",
   "items": {
    "type": "object",
    "properties": {
     "name": {"enum": ["pinned_h2d_share", "repeatable", "link_at_its_best", "not_slowed_down", "no_step_failed"]},
     "wanted": {"type": "number"},
     "measured": {"type": ["number", "null"]},
     "met": {"type": ["boolean", "null"], "description": "null where it cannot be judged"},
     "text": {"type": "string"}
    },
    "required": ["name", "wanted", "measured", "met", "text"],
    "additionalProperties": false
   }
  },
  "steps": {
   "type": "array",
   "description": "in the order in which they were made; empty without a GPU",
   "items": {
    "type": "object",
    "properties": {
     "name": {"type": "string"},
     "command": {"type": "array", "items": {"type": "string"}, "description": "empty for a step that was left out"},
     "exit_code": {"type": ["integer", "null"], "description": "null where nothing ran; below 0: the signal that ended it"},
     "elapsed_seconds": {"type": "number", "minimum": 0},
     "limit_seconds": {"type": "number", "description": "after which it was stopped"},
     "timed_out": {"type": "boolean"},
     "skipped": {"type": ["string", "null"], "description": "why it cannot be had here"},
     "failed": {"type": "boolean"},
     "messages": {"type": "string", "description": "the end of standard error"},
     "envelope": {"type": ["object", "null"], "description": "what iobench wrote with --json; see the schema of its verb"}
    },
    "required": ["name", "command", "exit_code", "elapsed_seconds", "limit_seconds", "timed_out", "skipped", "failed", "messages", "envelope"],
    "additionalProperties": false
   }
  }
 },
 "required": ["schema", "schema_version", "tool", "started_at", "elapsed_seconds", "host", "status", "exit_code", "error", "bars", "steps"],
 "additionalProperties": false
}
)json";
}

}  // namespace shardkit::apps
