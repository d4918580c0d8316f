# Flags of src/orrery/runtime/kernels/compiled/isa_<set>.cc. portable, avx2 and avx512 are all kernels, each with wider
# vectors; the others are the products that an instruction set adds to a lower one (function_table.cc). Nothing else is
# compiled with these flags (lanes.h there tells why). On other processors than x86-64 the portable set and the emulation
# of tiles alone are built.
set(avx2 -mavx2 -mfma -mf16c)
set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(avx512_vnni ${avx512} -mavx512vnni)
set(avx512_bf16 ${avx512_vnni} -mavx512bf16)
set(amx ${avx512_bf16} -mamx-tile -mamx-bf16 -mamx-int8 -fno-exceptions) # tiles are given up on return, not while unwinding
foreach(set portable amx_emulated avx2 avx512 avx512_vnni avx512_bf16 amx)
  set(level 3)
  if(set STREQUAL "amx_emulated")
    set(level 1) # only tests run it
  elseif(set STREQUAL "portable" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(level 2) # for processors from before 2013
  endif()
  set(flags $<$<CONFIG:Release>:-O${level}> ${${set}})
  # Vectors inline into functions of the same file only: how they would be passed does not matter.
  list(APPEND flags -Wno-psabi)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 takes _mm512_undefined_ps() for an uninitialised variable (GCC bug 105593).
    list(APPEND flags -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  # A precompiled header has the flags of the rest.
  set_source_files_properties(src/orrery/runtime/kernels/compiled/isa_${set}.cc PROPERTIES COMPILE_OPTIONS "${flags}"
                              SKIP_PRECOMPILE_HEADERS ON)
endforeach()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  foreach(set avx2 avx512 avx512_vnni avx512_bf16 amx)
    set_source_files_properties(src/orrery/runtime/kernels/compiled/isa_${set}.cc PROPERTIES HEADER_FILE_ONLY ON)
  endforeach()
endif()
