# Nothing found here is kept in CMakeCache.txt: a new key of the cache (cmake/cache_paths) must be seen at
# once. What the project needs: Debian packages, found the usual way, and what tools/setup put into its cache.
# A folder in CMAKE_PREFIX_PATH is looked at before the cache.
execute_process(COMMAND "${PROJECT_SOURCE_DIR}/cmake/cache_paths"
  OUTPUT_VARIABLE cache_lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "\n" ";" cache_lines "${cache_lines}")
foreach(line IN LISTS cache_lines)
  if(line MATCHES "^([a-z]+)=(.*)$")
    set(cache_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
  endif()
endforeach()

# Static: a shared libprotobuf costs milliseconds of relocation in every run of the tool.
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf 3.21 MODULE REQUIRED)
find_package(Threads REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h NO_CACHE REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h NO_CACHE REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h NO_CACHE REQUIRED)
# Static, so that the tool runs where no OpenSSL is; only libcrypto, and of it only SHA-256
# (src/support/sha256.cpp).
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)

# onnx's own ONNXConfig.cmake asks for protobuf's CMake package, which Debian does not ship: its targets file
# is read directly, with protobuf::libprotobuf from CMake's own module.
find_path(ONNX_CMAKE_DIR ONNXTargets.cmake HINTS "${cache_onnx}" PATH_SUFFIXES lib/cmake/ONNX
  NO_CMAKE_SYSTEM_PATH NO_CACHE)
if(NOT ONNX_CMAKE_DIR)
  message(FATAL_ERROR "onnx is neither in ${cache_onnx} nor in CMAKE_PREFIX_PATH: run tools/setup first")
endif()
include("${ONNX_CMAKE_DIR}/ONNXTargets.cmake")
cmake_path(SET ONNX_PREFIX NORMALIZE "${ONNX_CMAKE_DIR}/../../..")

# Headers only; the library is opened at run time.
find_path(ONNXRUNTIME_INCLUDE_DIR onnxruntime_c_api.h
  HINTS "${cache_ort}/usr/include" PATH_SUFFIXES onnxruntime onnxruntime/core/session NO_CACHE)

# The tests' Python, with numpy, onnx and onnxruntime.
find_program(GRAPHOPT_PYTHON NAMES python3 PATHS "${cache_venv}/bin" NO_DEFAULT_PATH NO_CACHE)

add_library(graphopt_fmt STATIC "${PROJECT_SOURCE_DIR}/cmake/fmt.cpp")   # says why it is ours
target_include_directories(graphopt_fmt SYSTEM PUBLIC "$<BUILD_INTERFACE:${FMT_INCLUDE_DIR}>")

# Header-only, and not part of anybody's interface. (spdlog's own target would bring the shared libfmt along.)
add_library(graphopt_spdlog INTERFACE)
target_compile_definitions(graphopt_spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
target_include_directories(graphopt_spdlog SYSTEM INTERFACE "${SPDLOG_INCLUDE_DIR}")
target_link_libraries(graphopt_spdlog INTERFACE graphopt_fmt Threads::Threads)
add_library(graphopt_xxhash INTERFACE)
target_include_directories(graphopt_xxhash SYSTEM INTERFACE "${XXHASH_INCLUDE_DIR}")
add_library(graphopt_ort_headers INTERFACE)
if(ONNXRUNTIME_INCLUDE_DIR)
  target_include_directories(graphopt_ort_headers SYSTEM INTERFACE "${ONNXRUNTIME_INCLUDE_DIR}")
  target_compile_definitions(graphopt_ort_headers INTERFACE ORT_API_MANUAL_INIT)
else()
  message(FATAL_ERROR
    "ONNX Runtime's headers are neither in ${cache_ort} nor in CMAKE_PREFIX_PATH: run tools/setup first")
endif()

# onnx_schema_list.inc, for those who make single schemas (src/infer, tests): include
# <generated>/onnx_schema_list.inc.
add_custom_command(
  OUTPUT "${PROJECT_BINARY_DIR}/generated/onnx_schema_list.inc"
  COMMAND "${CMAKE_COMMAND}" "-DONNX_INCLUDE=${ONNX_PREFIX}/include"
    "-DOUTPUT=${PROJECT_BINARY_DIR}/generated/onnx_schema_list.inc"
    -P "${PROJECT_SOURCE_DIR}/cmake/onnx_schema_list.cmake"
  DEPENDS "${PROJECT_SOURCE_DIR}/cmake/onnx_schema_list.cmake"
    "${ONNX_PREFIX}/include/onnx/defs/operator_sets.h"
  COMMENT "Listing onnx's schema classes")
add_custom_target(graphopt_onnx_schema_list DEPENDS "${PROJECT_BINARY_DIR}/generated/onnx_schema_list.inc")
add_library(graphopt_onnx_schemas INTERFACE)
add_dependencies(graphopt_onnx_schemas graphopt_onnx_schema_list)
target_include_directories(graphopt_onnx_schemas INTERFACE "${PROJECT_BINARY_DIR}/generated")
