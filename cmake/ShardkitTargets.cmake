# What every shardkit target has in common.

add_library(shardkit_options INTERFACE)
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Wold-style-cast
  -Wcast-qual -Woverloaded-virtual -Wundef $<$<BOOL:${SHARDKIT_WERROR}>:-Werror>)
target_compile_options(shardkit_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${warnings}>")
# g++ 12 sees copies out of bounds where strings are joined (gcc.gnu.org/PR105651 and its kin, fixed in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(shardkit_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>")
endif()
# In a unity build g++ takes the sources for headers, whose classes have no members of types in unnamed namespaces.
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(shardkit_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>")
endif()
target_include_directories(shardkit_options INTERFACE "${PROJECT_SOURCE_DIR}/lib")
target_link_libraries(shardkit_options INTERFACE fmt::fmt)
target_compile_definitions(shardkit_options INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
# Shards are the same on all processors: a product is rounded before something is added to it. x86-64 has no other way.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(shardkit_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>")
endif()

# What users install: each program is without the verbs of the other, although one object has the code of both.
target_compile_options(shardkit_options INTERFACE
  "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-ffunction-sections;-fdata-sections>")
target_link_options(shardkit_options INTERFACE "$<$<CONFIG:Release>:-Wl,--gc-sections>")
if(SHARDKIT_SANITIZE)
  set(sanitizing -fsanitize=${SHARDKIT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -U_FORTIFY_SOURCE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND sanitizing -Wno-maybe-uninitialized)  # false in std::regex with the checks of the sanitizer
  endif()
  target_compile_options(shardkit_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${sanitizing}>")
  target_link_options(shardkit_options INTERFACE -fsanitize=${SHARDKIT_SANITIZE})
endif()

# Code that runs once a command: a third less time to compile than with -O2.
set(cold_code "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O1>")
# Tests name the lines that fail: another third less. A debug build has their debug information.
if(SHARDKIT_SANITIZE)
  set(test_code "${cold_code}")
else()
  set(test_code "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<NOT:$<CONFIG:Debug>>>:-O0;-g0;-U_FORTIFY_SOURCE>")
endif()

# Precompiled headers, each built once: for modules, for those of cold code, and with doctest for all tests.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/precompiled.cpp" CONTENT "")
function(shardkit_precompiled name options headers)
  add_library(${name} OBJECT "${PROJECT_BINARY_DIR}/precompiled.cpp")
  target_link_libraries(${name} PRIVATE shardkit_options)
  target_compile_options(${name} PRIVATE "${options}")
  target_precompile_headers(${name} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled.hpp>" ${headers})
endfunction()
shardkit_precompiled(shardkit_precompiled "" "")
shardkit_precompiled(shardkit_precompiled_cold "${cold_code}" "")
if(SHARDKIT_TESTS)
  shardkit_precompiled(shardkit_precompiled_tests "${test_code}" "<doctest/doctest.h>")
endif()

# shardkit_text_source(TEXT SOURCE): makes SOURCE, in the build tree, from SOURCE.in, in which @TEXT@ is the content of
# the file TEXT. Both are relative to the current folder.
function(shardkit_text_source text source)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${text}")
  file(READ "${text}" TEXT)
  configure_file("${source}.in" "${source}" @ONLY)
endfunction()

# shardkit_library(NAME [COLD] SOURCES ... [DEPENDS module ...] [LINKS target ...])
# One static library per lib/ folder. DEPENDS names other lib/ folders and is what users of the library see;
# LINKS names outside libraries, which stay private to it. COLD: nothing in it is worth optimizing.
function(shardkit_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "" "SOURCES;DEPENDS;LINKS")
  add_library(shardkit_${name} STATIC ${arg_SOURCES})
  add_library(shardkit::${name} ALIAS shardkit_${name})
  list(TRANSFORM arg_DEPENDS PREPEND shardkit::)
  target_link_libraries(shardkit_${name} PUBLIC shardkit_options ${arg_DEPENDS} PRIVATE ${arg_LINKS})
  if(arg_COLD)
    target_compile_options(shardkit_${name} PRIVATE "${cold_code}")
    target_precompile_headers(shardkit_${name} REUSE_FROM shardkit_precompiled_cold)
  else()
    target_precompile_headers(shardkit_${name} REUSE_FROM shardkit_precompiled)
  endif()
endfunction()

# ctest starts these first: one that begins when all others have ended keeps one core waiting.
set(long_tests bench cli_bucket cli_cache cli_check_gpu cli_convert_faults cli_remedies cli_remedies_table cli_reshard
  cli_stage_bucket cli_stage_faults cli_stage_sharing cli_stage_web_server cli_upload dataset dataset_properties net net_radosgw
  samples_slurm_cluster)
function(shardkit_start_order name)
  if(name IN_LIST long_tests)
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
endfunction()

# Seconds after which a test hangs. Sanitizers and a busy machine take ten times as long as an idle one.
set(test_timeout 1800)

# shardkit_unite(NAME VARIABLE): replaces the files of tests in a list by sources of twelve each (unite_tests.py), unless
# SHARDKIT_UNITE_TESTS is off. Files that define what others see are compiled alone.
function(shardkit_unite name variable)
  set(alone "")
  set(together "")
  foreach(source IN LISTS ${variable})
    cmake_path(ABSOLUTE_PATH source NORMALIZE)
    file(STRINGS "${source}" shared REGEX "^(namespace [a-z].*{|extern \"C\"|template <>|void operator)" LIMIT_COUNT 1)
    if(shared OR NOT source MATCHES "_test.cpp$" OR NOT SHARDKIT_UNITE_TESTS)
      list(APPEND alone "${source}")
    else()
      list(APPEND together "${source}")
    endif()
  endforeach()
  set(number 0)
  while(together)
    list(SUBLIST together 0 12 sources)
    list(REMOVE_ITEM together ${sources})
    set(united "${CMAKE_CURRENT_BINARY_DIR}/united_${name}_${number}.cpp")
    add_custom_command(OUTPUT "${united}" COMMAND Python3::Interpreter "${unite_tests}" "${united}" ${sources}
                       DEPENDS ${sources} "${unite_tests}" VERBATIM COMMENT "Uniting tests of ${name}")
    list(APPEND alone "${united}")
    math(EXPR number "${number} + 1")
  endwhile()
  set(${variable} ${alone} PARENT_SCOPE)
endfunction()
set(unite_tests "${CMAKE_CURRENT_LIST_DIR}/unite_tests.py")

# shardkit_test(NAME [ALONE] [IN_MEMORY] SOURCES ... DEPENDS module ... [LINKS target ...] [LABELS label ...] [TIMEOUT seconds])
# One doctest program per tests/ folder; ctest runs it as NAME. ALONE: its files define functions that libraries call.
# IN_MEMORY: its temporary folders are in memory, which saves an ext4 creating small files.
function(shardkit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE;IN_MEMORY" "TIMEOUT" "SOURCES;DEPENDS;LINKS;LABELS")
  if(NOT arg_ALONE)
    shardkit_unite(${name} arg_SOURCES)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  list(TRANSFORM arg_DEPENDS PREPEND shardkit::)
  target_link_libraries(test_${name} PRIVATE shardkit_options shardkit_test_support ${arg_DEPENDS} ${arg_LINKS})
  target_compile_options(test_${name} PRIVATE "${test_code}")
  target_precompile_headers(test_${name} REUSE_FROM shardkit_precompiled_tests)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${test_timeout})
  endif()
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "unit;${arg_LABELS}" SKIP_RETURN_CODE 77)
  if(arg_IN_MEMORY)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "SHARDKIT_TEST_IN_MEMORY=1")
  endif()
  shardkit_start_order(${name})
endfunction()

# shardkit_program_test(NAME SCRIPT [LABELS label ...])
# A test of the built programs, written in Python with unittest; tests/cli/support/program.py is what they share.
function(shardkit_program_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LABELS")
  add_test(NAME ${name} COMMAND python3 "${CMAKE_CURRENT_SOURCE_DIR}/${script}" -v)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${test_timeout} LABELS "program;${arg_LABELS}" SKIP_RETURN_CODE 77
    ENVIRONMENT "SHARDKIT_PROGRAMS=$<TARGET_FILE_DIR:shardctl>")
  shardkit_start_order(${name})
endfunction()
