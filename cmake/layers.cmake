# The layers of ARCHITECTURE.md section 3 as a build rule. A layer may use only the layers named in
# its row; an upward or sideways dependency stops the configure step. tools/tidy.py reads the same
# table and checks every #include against it.
#
# Row: name|level|may use (comma separated, closure written out; "-" for none).
set(SEPTULE_LAYERS_ROWS
    "base|0|-"
    "gpu|1|base"
    "job|1|base"
    "plan|2|gpu,job,base"
    "predict|2|gpu,job,base"
    "port|2|base,gpu,job"
    "optimize|3|plan,predict,gpu,job,base"
    "learn|4|optimize,plan,predict,gpu,job,base"
    "serve|4|optimize,plan,predict,port,gpu,job,base"
    "sched|4|optimize,plan,predict,gpu,job,base"
    "control|5|sched,serve,port,optimize,plan,predict,gpu,job,base"
    "device|6|port,base,gpu,job"
    "live|6|port,base,gpu,job"
    "interop|6|serve,port,optimize,plan,predict,gpu,job,base"
    "sim|7|control,device,sched,serve,port,optimize,plan,predict,gpu,job,base"
    "report|7|job,plan,gpu,base"
    "learn_train|8|learn,interop,serve,port,optimize,plan,predict,gpu,job,base"
    "service|7|control,live,sched,serve,port,optimize,plan,predict,gpu,job,base")

# septule_layer(<name> [LIBS <imported targets>...])
# Makes the static library septule_<name> from src/<name>/*.cpp (header-only layers become an
# interface library) and links it to the layers it may use.
function(septule_layer name)
  cmake_parse_arguments(ARG "" "" "LIBS" ${ARGN})
  set(found FALSE)
  foreach(row IN LISTS SEPTULE_LAYERS_ROWS)
    string(REPLACE "|" ";" cells "${row}")
    list(GET cells 0 row_name)
    list(GET cells 1 row_level)
    list(GET cells 2 row_uses)
    set(level_${row_name} ${row_level})
    if(row_name STREQUAL name)
      set(found TRUE)
      set(own_level ${row_level})
      string(REPLACE "," ";" uses "${row_uses}")
    endif()
  endforeach()
  if(NOT found)
    message(FATAL_ERROR "layer '${name}' has no row in cmake/layers.cmake")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp
       ${PROJECT_SOURCE_DIR}/src/${name}/policies/*.cpp)
  if(sources)
    add_library(septule_${name} STATIC ${sources})
    set(scope PUBLIC)
    set(private_scope PRIVATE)
  else()
    add_library(septule_${name} INTERFACE)
    set(scope INTERFACE)
    set(private_scope INTERFACE)
  endif()
  set_property(GLOBAL APPEND PROPERTY SEPTULE_LAYER_TARGETS septule_${name})
  target_include_directories(septule_${name} ${scope} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(septule_${name} ${scope} septule_flags)
  foreach(use IN LISTS uses)
    if(use STREQUAL "-")
      continue()
    endif()
    if(NOT level_${use} LESS own_level)
      message(FATAL_ERROR "layer ${name} (level ${own_level}) may not use ${use} (level ${level_${use}})")
    endif()
    if(TARGET septule_${use})
      target_link_libraries(septule_${name} ${scope} septule_${use})
    endif()
  endforeach()
  if(ARG_LIBS)
    target_link_libraries(septule_${name} ${private_scope} ${ARG_LIBS})
  endif()
endfunction()

# septule_link_all_layers(<target>)
# Links every layer made so far, and the libraries whose headers tests and tools use too. Without the
# training: LibTorch's shared libraries would cost each of these programs 0.7 s at its start.
function(septule_link_all_layers target)
  get_property(layers GLOBAL PROPERTY SEPTULE_LAYER_TARGETS)
  list(REMOVE_ITEM layers septule_learn_train)
  target_link_libraries(${target} PRIVATE ${layers} septule_flags fmt::fmt
                                          nlohmann_json::nlohmann_json)
endfunction()
