# Flags of every target: warnings are errors; release builds are hardened.
add_library(wd_flags INTERFACE)
target_include_directories(wd_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_definitions(wd_flags INTERFACE _GNU_SOURCE
    WD_VERSION="${PROJECT_VERSION}")
target_compile_options(wd_flags INTERFACE
    -Wall -Wextra -Wpedantic -Werror -Wshadow -Wconversion -Wsign-conversion
    -Wstrict-prototypes -Wmissing-prototypes -Wcast-qual -Wcast-align -Wformat=2
    -Wundef -Wvla -Wswitch-enum -Wimplicit-fallthrough -Wnull-dereference
    -fno-common -fstack-protector-strong
    # Targets with WD_EXPORTED are what libwarded.so shows (clients/c/libwarded.map).
    $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WD_EXPORTED>>>:-fvisibility=hidden>
    $<$<C_COMPILER_ID:GNU>:-Wlogical-op;-Wduplicated-cond;-Wduplicated-branches;-Walloca>
    # protoc-c's ..._INIT macros cast const away where they are used; gcc lets system
    # headers do that, clang does not. Our own casts are gcc's to find.
    "$<$<C_COMPILER_ID:Clang>:SHELL:-Wno-cast-qual>")
target_link_options(wd_flags INTERFACE -Wl,-z,relro,-z,now -Wl,--as-needed)

# wd_plain: flags without sanitizers, for code that runs inside a slot.
add_library(wd_plain INTERFACE)
target_link_libraries(wd_plain INTERFACE wd_flags)

# wd_options: flags with the sanitizers asked for. What most targets link.
add_library(wd_options INTERFACE)
target_link_libraries(wd_options INTERFACE wd_flags)

if(WARDED_SANITIZE STREQUAL "address")
    target_compile_options(wd_options INTERFACE -fsanitize=address,undefined
        -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(wd_options INTERFACE -fsanitize=address,undefined)
    target_compile_options(wd_plain INTERFACE -fsanitize=undefined -fsanitize-trap=all)
elseif(WARDED_SANITIZE STREQUAL "thread")
    target_compile_options(wd_options INTERFACE -fsanitize=thread
        -fno-omit-frame-pointer)
    target_link_options(wd_options INTERFACE -fsanitize=thread)
else()
    target_compile_options(wd_flags INTERFACE
        $<$<CONFIG:Release>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=3;-fstack-clash-protection;-fcf-protection;-fno-plt>)
endif()

# Generated C compiles under our flags less the warnings that its generator earns.
add_library(wd_generated INTERFACE)
target_link_libraries(wd_generated INTERFACE wd_options)
target_compile_options(wd_generated INTERFACE -Wno-conversion -Wno-sign-conversion
    -Wno-cast-qual -Wno-pedantic -Wno-undef -Wno-missing-prototypes)
