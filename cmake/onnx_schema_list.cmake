# cmake -DONNX_INCLUDE=DIR -DOUTPUT=FILE -P onnx_schema_list.cmake
#
# Writes one line per schema class of the installed onnx, as its operator_sets*.h register them:
#
#   GRAPHOPT_SCHEMA(Onnx, 11, Conv)
#
# meaning onnx::GetOpSchema<ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(Onnx, 11, Conv)>(). With it a schema is made
# when it is first asked for; onnx's own registry makes all of them at the first look-up, which is longer than
# our whole start-up. The list is made from the installed headers so that it cannot differ from the library.
set(lines "")
foreach(suffix "" _ml _preview _training)
  file(STRINGS "${ONNX_INCLUDE}/onnx/defs/operator_sets${suffix}.h" calls REGEX "^ *fn\\(GetOpSchema<")
  foreach(call IN LISTS calls)
    if(call MATCHES "ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME\\(([A-Za-z]+), *([0-9]+), *([A-Za-z0-9_]+)\\)")
      list(APPEND lines "GRAPHOPT_SCHEMA(${CMAKE_MATCH_1}, ${CMAKE_MATCH_2}, ${CMAKE_MATCH_3})")
    elseif(call MATCHES "ONNX_PREVIEW_OPERATOR_SET_SCHEMA_CLASS_NAME\\(([0-9]+), *([A-Za-z0-9_]+)\\)")
      list(APPEND lines "GRAPHOPT_SCHEMA(OnnxPreview, ${CMAKE_MATCH_1}, ${CMAKE_MATCH_2})")
    else()
      message(FATAL_ERROR "operator_sets${suffix}.h: cannot read '${call}'")
    endif()
  endforeach()
endforeach()
list(LENGTH lines count)
if(count LESS 600)
  message(FATAL_ERROR
    "only ${count} schema classes found under ${ONNX_INCLUDE}: has the form of the headers changed?")
endif()
list(JOIN lines "\n" text)
file(WRITE "${OUTPUT}" "${text}\n")
