# generate.cmake - from .proto files to C and Python, for our services and for anyone's.
#
#   warded_generate_c(OUT ROOT DIR FILE...)       protoc-c messages and .wd.{h,c} tables;
#                                                 OUT: the C files to compile
#   warded_generate_c_client(OUT ROOT DIR FILE...)  .wdc.{h,c}: the calls of their
#                                                 services, for programs with libwarded
#   warded_generate_python(OUT ROOT DIR FILE...)  <file>_wd.py modules; OUT: the files
#
# ROOT is the folder that FILE names and imports are relative to; DIR receives the tree.
# Messages of warded/v1/*.proto are found wherever ROOT is.
find_program(PROTOC protoc REQUIRED)
find_path(PROTOBUF_PROTOS google/protobuf/descriptor.proto REQUIRED)
set(WARDED_PROTOS ${CMAKE_SOURCE_DIR}/proto CACHE INTERNAL "")
set(WARDED_CODEGEN ${CMAKE_CURRENT_LIST_DIR} CACHE INTERNAL "")
file(GLOB WARDED_PLUGIN_FILES CONFIGURE_DEPENDS ${WARDED_CODEGEN}/protoc-gen-warded
    ${WARDED_CODEGEN}/warded_codegen/*.py)
set(WARDED_PLUGIN_FILES ${WARDED_PLUGIN_FILES} CACHE INTERNAL "")
set(WARDED_PROTOC ${PROTOC} --plugin=protoc-gen-warded=${WARDED_CODEGEN}/protoc-gen-warded
    CACHE INTERNAL "")

function(warded_generate_c out root dir)
    file(MAKE_DIRECTORY ${dir})
    set(sources)
    foreach(proto ${ARGN})
        string(REGEX REPLACE "\\.proto$" "" base ${proto})
        set(made ${dir}/${base}.pb-c.c ${dir}/${base}.pb-c.h)
        set(plugin)
        if(EXISTS ${root}/${proto})
            file(STRINGS ${root}/${proto} services REGEX "^[ \t]*service[ \t]")
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${root}/${proto})
            if(services)
                list(APPEND made ${dir}/${base}.wd.c ${dir}/${base}.wd.h)
                set(plugin --warded_opt=lang=c --warded_out=${dir})
            endif()
        endif()
        add_custom_command(OUTPUT ${made}
            COMMAND ${WARDED_PROTOC} -I${root} -I${WARDED_PROTOS} -I${PROTOBUF_PROTOS}
                --c_out=${dir} ${plugin} ${proto}
            DEPENDS ${root}/${proto} ${WARDED_PROTOS}/warded/v1/options.proto
                ${WARDED_PLUGIN_FILES}
            COMMENT "Generating C from ${proto}" VERBATIM)
        list(APPEND sources ${made})
    endforeach()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(warded_generate_c_client out root dir)
    file(MAKE_DIRECTORY ${dir})
    set(sources)
    foreach(proto ${ARGN})
        string(REGEX REPLACE "\\.proto$" "" base ${proto})
        set(made ${dir}/${base}.wdc.c ${dir}/${base}.wdc.h)
        add_custom_command(OUTPUT ${made}
            COMMAND ${WARDED_PROTOC} -I${root} -I${WARDED_PROTOS} -I${PROTOBUF_PROTOS}
                --warded_opt=lang=c-client --warded_out=${dir} ${proto}
            DEPENDS ${root}/${proto} ${WARDED_PROTOS}/warded/v1/options.proto
                ${WARDED_PLUGIN_FILES}
            COMMENT "Generating C calls from ${proto}" VERBATIM)
        list(APPEND sources ${made})
    endforeach()
    set(${out} ${sources} PARENT_SCOPE)
endfunction()

function(warded_generate_python out root dir)
    file(MAKE_DIRECTORY ${dir})
    set(made)
    set(inputs)
    foreach(proto ${ARGN})
        string(REGEX REPLACE "\\.proto$" "" base ${proto})
        string(REPLACE "-" "_" base ${base})
        list(APPEND made ${dir}/${base}_wd.py)
        list(APPEND inputs ${root}/${proto})
    endforeach()
    add_custom_command(OUTPUT ${made}
        COMMAND ${WARDED_PROTOC} -I${root} -I${WARDED_PROTOS} -I${PROTOBUF_PROTOS}
            --warded_opt=lang=python --warded_out=${dir} ${ARGN}
        DEPENDS ${inputs} ${WARDED_PROTOS}/warded/v1/options.proto ${WARDED_PLUGIN_FILES}
        COMMENT "Generating Python stubs" VERBATIM)
    set(${out} ${made} PARENT_SCOPE)
endfunction()
