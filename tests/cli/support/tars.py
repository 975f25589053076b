"""Tars that other programs write."""

import io
import tarfile


def write_tar(path, files, mode="w", form=tarfile.PAX_FORMAT):
    """Writes a tar of (name, bytes) as Python's webdataset writer does: PAX with a float mtime."""
    with tarfile.open(path, mode, format=form) as tar:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            info.mtime = 1700000000.5 if form == tarfile.PAX_FORMAT else 1700000000
            tar.addfile(info, io.BytesIO(content))
