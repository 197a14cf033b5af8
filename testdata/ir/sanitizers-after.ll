; Sanitizers that run after the pass leave its probes alone: no races on counters, no checks of them.
; RUN: opt -passes='unseen-cover,function(tsan),verify' -S %s | FileCheck %s --implicit-check-not='call void @__tsan_write'
; ASan leaves stores alone that lie within a global, unless it is told not to look.
; RUN: opt -passes='unseen-cover,asan,verify' -asan-opt-globals=0 -S %s | FileCheck %s --implicit-check-not='call void @__asan_report_store'

; CHECK: define void @f(
; CHECK: store volatile i8 1, ptr @__unseen_counters, align 1, {{.*}}!nosanitize
define void @f() sanitize_thread sanitize_address !dbg !10 {
  call void @g(), !dbg !11
  ret void
}
declare void @g()

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !2, emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "a.c", directory: "/src")
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !6)
!6 = !{}
!10 = distinct !DISubprogram(name: "f", file: !2, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 11, column: 1, scope: !10)
