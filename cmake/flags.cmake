# Compiler flags shared by every target of ours (docs: CONVENTIONS.md, "Style by number").
# -ffp-contract=off and the absence of -march/-ffast-math keep results equal between compilers.
add_library(septule_flags INTERFACE)
target_compile_options(
  septule_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wold-style-cast
            -Woverloaded-virtual
            -Wnon-virtual-dtor
            -Wdouble-promotion
            -Werror
            -Wno-missing-field-initializers # designated initialisers leave defaults out on purpose
            -ffp-contract=off)
# g++ 12 reports overlapping copies inside std::string where there are none (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(septule_flags INTERFACE -Wno-restrict)
endif()
# clang 19 reports std::stable_sort of g++ 12's library for using a deprecated function within it.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(septule_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(SEPTULE_SANITIZE_ADDRESS)
  target_compile_options(septule_flags INTERFACE -fsanitize=address,undefined
                                                 -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(septule_flags INTERFACE -fsanitize=address,undefined)
endif()
if(SEPTULE_SANITIZE_THREAD)
  target_compile_options(septule_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(septule_flags INTERFACE -fsanitize=thread)
endif()
if(SEPTULE_FUZZ)
  # Coverage feedback for libFuzzer; the fuzz programs alone link its main function.
  target_compile_options(septule_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(septule_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
