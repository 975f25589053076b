# Finds every library shardkit uses. A missing one ends the configuration with the line that installs it.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

function(shardkit_missing what package)
  message(FATAL_ERROR "${what} was not found. On Debian this mends it:\n"
    "    sudo apt-get install ${package}\n"
    "or install everything at once: scripts/install-deps")
endfunction()

macro(shardkit_find_cmake name package)
  find_package(${name} QUIET)
  if(NOT ${name}_FOUND)
    shardkit_missing("${name}" "${package}")
  endif()
endmacro()

macro(shardkit_find_pkgconfig target module package)
  pkg_check_modules(${target} QUIET IMPORTED_TARGET ${module})
  if(NOT ${target}_FOUND)
    shardkit_missing("${module}" "${package}")
  endif()
endmacro()

shardkit_find_cmake(fmt libfmt-dev)
shardkit_find_cmake(nlohmann_json nlohmann-json3-dev)
shardkit_find_cmake(CLI11 libcli11-dev)
shardkit_find_cmake(JPEG libjpeg62-turbo-dev)
shardkit_find_cmake(PNG libpng-dev)
shardkit_find_pkgconfig(webp libwebp libwebp-dev)
# In Debian's libwebp-dev too.
shardkit_find_pkgconfig(webpdemux libwebpdemux libwebp-dev)
shardkit_find_cmake(LibArchive libarchive-dev)
shardkit_find_cmake(OpenSSL libssl-dev)
shardkit_find_pkgconfig(xxhash libxxhash libxxhash-dev)
# 7.88: CURLOPT_QUICK_EXIT, so that a stop does not wait for a name server.
shardkit_find_pkgconfig(curl "libcurl>=7.88" libcurl4-openssl-dev)
# Linked always, used where the kernel offers io_uring.
shardkit_find_pkgconfig(uring "liburing>=2.3" liburing-dev)
shardkit_find_cmake(pugixml libpugixml-dev)
if(SHARDKIT_TESTS)
  shardkit_find_cmake(doctest doctest-dev)
endif()
