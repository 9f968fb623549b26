# graphopt_layer(<name> [DEPENDS <layer>...] [LINK <target>...])
#
# One static library graphopt_<name> of all sources below the current folder. DEPENDS names the layers that it
# may use: dependencies point one way (tests/cli/layering.py checks the includes). LINK names what only its
# sources see. A folder without sources is an INTERFACE library, so that headers alone make a layer too.
function(graphopt_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 layer "" "" "DEPENDS;LINK")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(target graphopt_${name})
  list(TRANSFORM layer_DEPENDS PREPEND graphopt_)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target}
      PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
             "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
      PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_features(${target} PUBLIC cxx_std_20)
    graphopt_unite(${target})
    target_link_libraries(${target} PUBLIC ${layer_DEPENDS}
      PRIVATE ${layer_LINK} "$<BUILD_INTERFACE:graphopt_flags>")
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE
      "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_compile_features(${target} INTERFACE cxx_std_20)
    target_link_libraries(${target} INTERFACE ${layer_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY GRAPHOPT_LAYERS ${target})
endfunction()
