#pragma once

#include <stdexcept>
#include <string>

#include <archive.h>
#include <archive_entry.h>

/// The bytes compressed with libarchive's writer of a filter: "gzip", "zstd", "xz", "bzip2".
inline std::string compressed(const std::string& bytes, const char* filter = "gzip") {
  std::string packed(bytes.size() + (1U << 20U), '\0');
  std::size_t size = 0;
  archive* writer = archive_write_new();
  archive_entry* entry = archive_entry_new();
  archive_write_set_format_raw(writer);
  archive_write_set_bytes_in_last_block(writer, 1);
  archive_entry_set_filetype(entry, AE_IFREG);
  const bool done = archive_write_add_filter_by_name(writer, filter) == ARCHIVE_OK &&
                    archive_write_open_memory(writer, packed.data(), packed.size(), &size) == ARCHIVE_OK &&
                    archive_write_header(writer, entry) == ARCHIVE_OK &&
                    archive_write_data(writer, bytes.data(), bytes.size()) == static_cast<la_ssize_t>(bytes.size()) &&
                    archive_write_close(writer) == ARCHIVE_OK;
  archive_entry_free(entry);
  archive_write_free(writer);
  if (!done) throw std::logic_error("libarchive cannot compress");
  packed.resize(size);
  return packed;
}
