"""Made-up results of nodes, for tests of iobench aggregate."""


def node(name, rate, second=1_764_000_000):
    """A result of iobench run on a node that read `rate` bytes per second for ten seconds from `second` on."""
    rows = [{"unix_time_seconds": second + i, "stage": "read", "bytes": int(rate), "samples": 100,
             "measured_seconds": 1.0} for i in range(10)]
    return {"schema": "shardkit/run", "schema_version": 1,
            "tool": {"name": "iobench", "version": "0.9.0", "commit": "abc"},
            "started_at": "2026-11-26T08:00:00Z", "elapsed_seconds": 60.0,
            "host": {"hostname": name, "node": name, "cpus": 64, "labels": {"rack": f"r{len(name)}"}},
            "options": {"preset": None}, "status": "ok", "error": None,
            "result": {"read": {"bytes_per_second": rate}, "decode": {"samples_per_second": rate / 1e6},
                       "start": {"clock_offset_seconds": 0.01}, "seconds": rows}}
