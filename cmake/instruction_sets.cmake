# Flags of src/orrery/kernels/isa_<set>.cc: each is the same kernels for one instruction set, chosen at run time. Nothing else
# is compiled with them (src/orrery/kernels/lanes.h tells why). On other processors than x86-64 the portable set alone is built.
set(avx2 -mavx2 -mfma -mf16c)
set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
set(avx512_bf16 ${avx512} -mavx512bf16 -mavx512vnni)
foreach(set portable avx2 avx512 avx512_bf16)
  set(flags ${${set}})
  # Vectors inline into functions of the same file only: how they would be passed does not matter.
  list(APPEND flags -Wno-psabi)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # g++ 12 takes _mm512_undefined_ps() for an uninitialised variable (GCC bug 105593).
    list(APPEND flags -Wno-uninitialized -Wno-maybe-uninitialized)
  endif()
  # A precompiled header has the flags of the rest.
  set_source_files_properties(src/orrery/kernels/isa_${set}.cc PROPERTIES COMPILE_OPTIONS "${flags}"
                              SKIP_PRECOMPILE_HEADERS ON)
endforeach()
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(src/orrery/kernels/isa_avx2.cc src/orrery/kernels/isa_avx512.cc
                              src/orrery/kernels/isa_avx512_bf16.cc PROPERTIES HEADER_FILE_ONLY ON)
endif()
