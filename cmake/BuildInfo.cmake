# Run at every build by cmake -P with TEMPLATE, OUTPUT, SOURCE_DIR and SHARDKIT_VERSION: writes the commit into a source
# file, which changes only when the commit does.
execute_process(
  COMMAND git -C "${SOURCE_DIR}" describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE SHARDKIT_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(SHARDKIT_COMMIT "unknown")
endif()
configure_file("${TEMPLATE}" "${OUTPUT}" @ONLY)
