# wd_unit_test(NAME [PLAIN] SOURCES... LIBS libs...): a cmocka program, run by ctest;
# PLAIN: without sanitizers, LIBS too.
# The program is one file of tests/unit/ROOM/ (test_NAME.c) with what it needs.
function(wd_unit_test name)
    cmake_parse_arguments(arg "PLAIN" "" "SOURCES;LIBS" ${ARGN})
    add_executable(test_${name} ${arg_SOURCES}
        ${CMAKE_SOURCE_DIR}/tests/support/cmocka_select.c) # tests/run.sh lists, chooses
    target_link_libraries(test_${name} PRIVATE
        $<IF:$<BOOL:${arg_PLAIN}>,wd_plain,wd_options> ${arg_LIBS} cmocka)
    target_link_options(test_${name} PRIVATE -Wl,--wrap=_cmocka_run_group_tests)
    add_test(NAME unit.${name} COMMAND test_${name})
    set_tests_properties(unit.${name} PROPERTIES TIMEOUT 120)
endfunction()
