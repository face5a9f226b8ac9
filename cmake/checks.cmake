# Tests that run tools and transcripts instead of a program of GoogleTest. Included by
# tests/CMakeLists.txt. Labels: unit, golden, fuzz.

# The rules a compiler does not check, and the tools' own tests.
add_test(NAME tidy COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/tidy.py
                           ${PROJECT_SOURCE_DIR})
set_tests_properties(tidy PROPERTIES LABELS unit)
file(GLOB tool_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*_test.py)
foreach(file IN LISTS tool_tests)
  get_filename_component(name ${file} NAME_WE)
  add_test(NAME tools.${name} COMMAND Python3::Interpreter -B ${file})
  set_tests_properties(tools.${name} PROPERTIES LABELS unit)
endforeach()

# Every header compiles alone: one generated source a header, compiled without optimisation.
function(septule_check_headers)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.hpp
       ${PROJECT_SOURCE_DIR}/apps/*.hpp ${PROJECT_SOURCE_DIR}/tests/*.hpp)
  # These include LibTorch, half a minute each; the two sources that use them are check enough.
  list(FILTER headers EXCLUDE REGEX "learn_train/(torch_support|slice_net_module|window_module)\\.hpp$")
  set(sources "")
  foreach(header IN LISTS headers)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${header})
    string(REGEX REPLACE "[/.]" "_" stem ${name})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/checkheaders/${stem}.cpp)
    # Twice, so that a header without #pragma once shows too.
    file(CONFIGURE OUTPUT ${source} CONTENT "#include \"@header@\"\n#include \"@header@\"\n" @ONLY)
    list(APPEND sources ${source})
  endforeach()
  add_library(checkheaders OBJECT ${sources})
  target_compile_options(checkheaders PRIVATE -O0 -g0)
  target_compile_definitions(checkheaders PRIVATE SEPTULE_SHARED_DEFAULT="" SEPTULE_SOURCE_DIR="")
  target_include_directories(checkheaders PRIVATE ${PROJECT_SOURCE_DIR}/apps
                                                  ${PROJECT_SOURCE_DIR}/tests)
  septule_link_all_layers(checkheaders)
  target_link_libraries(checkheaders PRIVATE CLI11::CLI11 GTest::gtest rapidcheck)
  add_test(NAME checkheaders COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target
                                     checkheaders)
  set_tests_properties(checkheaders PROPERTIES LABELS unit RUN_SERIAL TRUE)
endfunction()
if(NOT SEPTULE_SANITIZE_ADDRESS AND NOT SEPTULE_SANITIZE_THREAD)
  septule_check_headers()
endif()

# septule_console_tests(PREFIX <prefix> FIXTURES <directory> FILES <files>...)
# One test a transcript (tools/console.py says what a transcript is), on the program just built.
function(septule_console_tests)
  cmake_parse_arguments(ARG "" "PREFIX;FIXTURES" "FILES" ${ARGN})
  foreach(file IN LISTS ARG_FILES)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${file})
    string(REGEX REPLACE "^(tests/golden|docs)/" "" name ${name})
    string(REGEX REPLACE "\\.(console|md)$" "" name ${name})
    add_test(NAME ${ARG_PREFIX}.${name}
             COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/tools/console.py --binary
                     $<TARGET_FILE:septule> --fixtures ${ARG_FIXTURES} ${file})
    set_tests_properties(${ARG_PREFIX}.${name} PROPERTIES LABELS golden)
  endforeach()
endfunction()
file(GLOB_RECURSE golden_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/golden/*.console)
septule_console_tests(PREFIX golden FIXTURES ${PROJECT_SOURCE_DIR}/tests/golden/fixtures FILES
                      ${golden_files})
file(GLOB_RECURSE pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
file(GLOB top_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
septule_console_tests(PREFIX docs FIXTURES ${PROJECT_SOURCE_DIR}/examples FILES ${pages}
                      ${top_pages})

# fuzz_corpus_<name>: the committed corpus through the entry of fuzz/<name>_fuzz.cpp, in builds
# without libFuzzer, so that an input which once failed is tried by every test run.
file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/fuzz/*_fuzz.cpp)
foreach(file IN LISTS fuzz_sources)
  get_filename_component(name ${file} NAME_WE)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(fuzz_corpus_${name} ${file} ${PROJECT_SOURCE_DIR}/fuzz/replay_main.cpp)
  septule_link_all_layers(fuzz_corpus_${name})
  target_include_directories(fuzz_corpus_${name} PRIVATE ${PROJECT_SOURCE_DIR}/fuzz)
  add_test(NAME fuzz_corpus_${name} COMMAND fuzz_corpus_${name}
                                            ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
  set_tests_properties(fuzz_corpus_${name} PROPERTIES LABELS fuzz)
endforeach()
