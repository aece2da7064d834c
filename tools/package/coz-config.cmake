# find_package(coz) gives the target coz::coz, which has coz.h and nothing to link but the loader,
# and the executable coz::profiler, the command.
get_filename_component(_coz_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET coz::coz)
  add_library(coz::coz INTERFACE IMPORTED)
  set_target_properties(coz::coz PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_coz_prefix}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()
if(NOT TARGET coz::profiler)
  add_executable(coz::profiler IMPORTED)
  set_target_properties(coz::profiler PROPERTIES IMPORTED_LOCATION "${_coz_prefix}/bin/coz")
endif()
set(coz_EXECUTABLE "${_coz_prefix}/bin/coz")
unset(_coz_prefix)
