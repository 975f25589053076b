"""Lists an archive through libarchive's C interface: Python's standard library has no binding for it."""

import ctypes
import ctypes.util

OK, END = 0, 1
BLOCK = 1 << 16


def load():
    name = ctypes.util.find_library("archive")
    if not name:
        raise RuntimeError("libarchive is not installed; scripts/install-deps --test installs it")
    library = ctypes.CDLL(name)
    for function in ("archive_read_new", "archive_entry_pathname", "archive_error_string"):
        getattr(library, function).restype = ctypes.c_void_p
    library.archive_entry_size.restype = ctypes.c_int64
    library.archive_read_header_position.restype = ctypes.c_int64
    return library


def members(path):
    """(name, header offset, size) of every member, in order. Raises RuntimeError where libarchive is not content."""
    library = load()
    archive = ctypes.c_void_p(library.archive_read_new())

    def check(status):
        if status not in (OK, END):
            raise RuntimeError(ctypes.string_at(library.archive_error_string(archive)).decode())
        return status

    check(library.archive_read_support_format_tar(archive))
    check(library.archive_read_open_filename(archive, str(path).encode(), BLOCK))
    entry = ctypes.c_void_p()
    found = []
    while check(library.archive_read_next_header(archive, ctypes.byref(entry))) != END:
        name = ctypes.string_at(library.archive_entry_pathname(entry)).decode()
        found.append((name, library.archive_read_header_position(archive), library.archive_entry_size(entry)))
    check(library.archive_read_free(archive))
    return found
