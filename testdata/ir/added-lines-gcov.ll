; Line tables that the wrapper asked for stay where clang's own --coverage still needs them.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s

; CHECK: define void @f() !dbg
; CHECK: call void @g(), !dbg
; CHECK: !llvm.dbg.cu = !{
define void @f() !dbg !10 {
  call void @g(), !dbg !11
  ret void
}
declare void @g()

!llvm.dbg.cu = !{!0}
!llvm.gcov = !{!7}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !2, flags: "unseen-lines", emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "a.c", directory: "/src")
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !{!"a.gcno", !"a.gcda", !0}
!10 = distinct !DISubprogram(name: "f", file: !2, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 11, column: 1, scope: !10)
