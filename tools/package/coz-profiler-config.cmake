# The original Coz has this name: find_package(coz-profiler).
include("${CMAKE_CURRENT_LIST_DIR}/../coz/coz-config.cmake")
