# cmake -DBUILD_DIR=... -DVERSION=... -DGENERATOR=... -DCOMPILER=... -DFLAGS=... -DWORK_DIR=... -P run.cmake
#
# Installs the build into an empty folder, moves that folder (a package must not know where it was installed),
# builds the consumer beside this file against it, runs it, and runs the installed tool.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "status ${status}: ${ARGN}\n${out}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE "${WORK_DIR}")
run("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${WORK_DIR}/first")
file(RENAME "${WORK_DIR}/first" "${WORK_DIR}/moved")
run("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${WORK_DIR}/moved" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
  -DCMAKE_BUILD_TYPE=Release)
run("${CMAKE_COMMAND}" --build "${WORK_DIR}/build")
run("${WORK_DIR}/build/consumer")
if(NOT out STREQUAL "${VERSION}\n")
  message(FATAL_ERROR "the consumer printed '${out}', not '${VERSION}'")
endif()
if(EXISTS "${BUILD_DIR}/graphopt")
  run("${WORK_DIR}/moved/bin/graphopt" --version)
  if(NOT out MATCHES "${VERSION}")
    message(FATAL_ERROR "the installed tool printed '${out}', which lacks '${VERSION}'")
  endif()
  run("${WORK_DIR}/moved/bin/graphopt" --list-devices)
  if(NOT out MATCHES "moved/share/graphopt/devices/coreml.json")
    message(FATAL_ERROR "the installed tool finds no device profiles beside it: ${out}")
  endif()
endif()

# Neither the source tree nor the build tree may show in what was installed.
file(GLOB_RECURSE files "${WORK_DIR}/moved/*.cmake")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  foreach(folder "${BUILD_DIR}" "${SOURCE_DIR}")
    string(FIND "${text}" "${folder}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${folder}")
    endif()
  endforeach()
endforeach()
file(REMOVE_RECURSE "${WORK_DIR}")
