"""Made-up results for tests of iobench compare."""


def envelope(rate, cache="cold", version="0.1.0", p99=0.002, neighbors=""):
    """A result of iobench read."""
    return {
        "schema": "shardkit/read",
        "schema_version": 1,
        "tool": {"name": "iobench", "version": version, "commit": "abc"},
        "host": {"hostname": "n1", "cpus": 16, "memory_bytes": 1 << 35},
        "options": {"path": ["/data"], "threads": None, "cache": cache},
        "result": {
            "threads": 8,
            "bytes_per_second": rate,
            "latency_seconds": {"p99": p99},
            "cache": {"state": cache},
            "neighbors": {"text": neighbors},
        },
        "warnings": [],
        "error": None,
        "status": "ok",
        "exit_code": 0,
    }
