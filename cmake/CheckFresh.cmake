# Run by ctest through cmake -P with DOCGEN, DOCS_DIR and WORK_DIR: compares the generated documents in the repository
# with what docgen writes now. Schemas without a program in their name are written by hand.
file(REMOVE_RECURSE "${WORK_DIR}")
execute_process(COMMAND "${DOCGEN}" reference "${WORK_DIR}/reference" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${DOCGEN}" schema "${WORK_DIR}/schema" COMMAND_ERROR_IS_FATAL ANY)

file(GLOB fresh RELATIVE "${WORK_DIR}" "${WORK_DIR}/reference/*" "${WORK_DIR}/schema/*")
file(GLOB kept RELATIVE "${DOCS_DIR}" "${DOCS_DIR}/reference/*" "${DOCS_DIR}/schema/*-*.json")
set(stale "")
foreach(name IN LISTS fresh kept)
  execute_process(COMMAND "${CMAKE_COMMAND}" -E compare_files "${WORK_DIR}/${name}" "${DOCS_DIR}/${name}"
                  RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(differs)
    list(APPEND stale "docs/${name}")
  endif()
endforeach()
list(REMOVE_DUPLICATES stale)
if(stale)
  list(JOIN stale "\n  " lines)
  message(FATAL_ERROR "These generated documents are stale:\n  ${lines}\n"
    "This refreshes them:\n  cmake --build build/dev --target docs")
endif()
list(LENGTH kept count)
message(NOTICE "checked ${count} documents")
