# The tool chain of tools/package: zig's clang and libc++ for a version of glibc, with the libraries of
# tools/packaging/portable. -DGRAPHOPT_PORTABLE=FOLDER names what that made. Nothing of the system is
# looked at but programs (protoc).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GRAPHOPT_PORTABLE)
set(CMAKE_SYSTEM_NAME Linux)
file(READ "${GRAPHOPT_PORTABLE}/target" target)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR "${target}")
set(CMAKE_C_COMPILER "${GRAPHOPT_PORTABLE}/bin/cc")
set(CMAKE_CXX_COMPILER "${GRAPHOPT_PORTABLE}/bin/c++")
set(CMAKE_AR "${GRAPHOPT_PORTABLE}/bin/ar" CACHE FILEPATH "")
set(CMAKE_RANLIB "${GRAPHOPT_PORTABLE}/bin/ranlib" CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH "${GRAPHOPT_PORTABLE}")
set(CMAKE_PREFIX_PATH "${GRAPHOPT_PORTABLE}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
