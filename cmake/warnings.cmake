# One place for compiler flags that are ours alone: an INTERFACE library that every target of the project
# links privately, so that nothing of it reaches a consumer.
add_library(graphopt_flags INTERFACE)
target_compile_options(graphopt_flags INTERFACE
  -Wall -Wextra -Wpedantic
  $<$<CXX_COMPILER_ID:GNU>:-Wconversion>   # g++ is the judge: clang's covers signs too, which g++ leaves out
  $<$<BOOL:${GRAPHOPT_WERROR}>:-Werror>
  $<$<CONFIG:Release>:-ffunction-sections -fdata-sections>)
# An enum without its word is no JSON: it would become a number.
target_compile_definitions(graphopt_flags INTERFACE JSON_DISABLE_ENUM_SERIALIZATION=1)
target_link_options(graphopt_flags INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections>)

# -O2: the hot loops are memory-bound; -O3 only makes the program larger, and its pages have to be read at
# start-up.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# The tool alone carries the C++ library with it: finding and relocating the shared one is a third of the time
# that an empty run takes. (Sanitizers bring their own runtime and want it shared.)
add_library(graphopt_tool_flags INTERFACE)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_link_options(graphopt_tool_flags INTERFACE $<$<CONFIG:Release>:-static-libstdc++ -static-libgcc>)
endif()
