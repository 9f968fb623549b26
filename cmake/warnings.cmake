# One place for compiler flags that are ours alone: an INTERFACE library that every target of the project links
# privately, so that nothing of it reaches a consumer.
add_library(graphopt_flags INTERFACE)
target_compile_options(graphopt_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion
  $<$<BOOL:${GRAPHOPT_WERROR}>:-Werror>
  $<$<CONFIG:Release>:-ffunction-sections -fdata-sections>)
target_link_options(graphopt_flags INTERFACE $<$<CONFIG:Release>:-Wl,--gc-sections>)

# -O2: the hot loops are memory-bound; -O3 only makes the program larger, and its pages have to be read at start-up.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
