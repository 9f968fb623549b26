# The package graphopt: libraries, public headers, the tool, and CMake files. onnx's static libraries are
# installed along, so that a consumer needs this prefix and Debian packages only.
include(CMakePackageConfigHelpers)

get_property(layers GLOBAL PROPERTY GRAPHOPT_LAYERS)
install(TARGETS graphopt_api graphopt_fmt ${layers} EXPORT graphoptTargets
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(EXPORT graphoptTargets NAMESPACE graphopt:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/graphopt")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/graphopt" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(TARGET graphopt)
  install(TARGETS graphopt RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

install(DIRECTORY "${PROJECT_SOURCE_DIR}/share/graphopt" DESTINATION "${CMAKE_INSTALL_DATADIR}")

configure_package_config_file(cmake/graphoptConfig.cmake.in graphoptConfig.cmake
  INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/graphopt" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(graphoptConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/graphoptConfig.cmake" "${PROJECT_BINARY_DIR}/graphoptConfigVersion.cmake"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/graphopt")

# The layers are static libraries of one another: a group spares their order.
set(pkgconfig_libraries "")
foreach(target graphopt_fmt ${layers})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    string(APPEND pkgconfig_libraries " -l${target}")
  endif()
endforeach()
string(STRIP "${pkgconfig_libraries}" pkgconfig_libraries)
file(RELATIVE_PATH pkgconfig_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" pkgconfig_prefix "${pkgconfig_prefix}")
configure_file(cmake/graphopt.pc.in graphopt.pc @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/graphopt.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# onnx under a folder of its own: another onnx in the same prefix is neither overwritten nor found by mistake.
# Its targets file finds its libraries relative to itself. No headers: nothing of onnx shows in ours.
install(FILES "${ONNX_PREFIX}/lib/libonnx.a" "${ONNX_PREFIX}/lib/libonnx_proto.a"
  DESTINATION "${CMAKE_INSTALL_LIBDIR}/graphopt/onnx/lib")
install(DIRECTORY "${ONNX_CMAKE_DIR}/" DESTINATION "${CMAKE_INSTALL_LIBDIR}/graphopt/onnx/lib/cmake/ONNX"
  FILES_MATCHING PATTERN "ONNXTargets*.cmake")
# The targets file names this folder as an include path, so it must exist.
install(DIRECTORY DESTINATION "${CMAKE_INSTALL_LIBDIR}/graphopt/onnx/include")

install(FILES LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
