# septule_embed(<target> NAME <function> FILES <files>...)
# Adds a generated source to <target> that defines
#   std::span<const std::pair<std::string_view, std::string_view>> septule::<function>()
# giving (file name without directory, text) for each file, in the order of the list. The texts are
# string literals cut into pieces, byte for byte, so no file is read at run time.
function(septule_embed target)
  cmake_parse_arguments(ARG "" "NAME" "FILES" ${ARGN})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${ARG_NAME}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${ARG_NAME} "-DFILES=${ARG_FILES}" -P
            ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${ARG_FILES} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
  # Trained weights are longer than the 64 KiB that the standard asks compilers to take.
  set_source_files_properties(${out} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${out})
endfunction()
