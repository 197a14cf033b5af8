; Line tables that the wrapper asked for are used and then removed; the user's own debug info stays.
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=PLAN
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s

; PLAN: function added: cover
; PLAN: statements 11:1 by [0]
; PLAN: function kept: cover
; PLAN: statements 22:1 by [1]

; CHECK: define void @added() {
; CHECK-NOT: !dbg
; CHECK: define void @kept() !dbg
; CHECK-NEXT: store volatile i8 1, {{.*}}, !dbg ![[LINE:[0-9]+]]
; CHECK-NEXT: call void @g(), !dbg ![[LINE]]
; CHECK: !llvm.dbg.cu = !{![[UNIT:[0-9]+]]}
; CHECK: ![[UNIT]] = distinct !DICompileUnit({{.*}}file: ![[FILE:[0-9]+]]
; CHECK: ![[FILE]] = !DIFile(filename: "kept.c"
; CHECK: ![[LINE]] = !DILocation(line: 22
define void @added() !dbg !10 {
  call void @g(), !dbg !11
  ret void
}
define void @kept() !dbg !20 {
  call void @g(), !dbg !21
  ret void
}
declare void @g()

!llvm.dbg.cu = !{!0, !1}
!llvm.module.flags = !{!4}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !2, flags: "unseen-lines", emissionKind: LineTablesOnly)
!1 = distinct !DICompileUnit(language: DW_LANG_C11, file: !3, emissionKind: FullDebug)
!2 = !DIFile(filename: "added.c", directory: "/src")
!3 = !DIFile(filename: "kept.c", directory: "/src")
!4 = !{i32 2, !"Debug Info Version", i32 3}
!5 = !DISubroutineType(types: !6)
!6 = !{}
!10 = distinct !DISubprogram(name: "added", file: !2, line: 10, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!11 = !DILocation(line: 11, column: 1, scope: !10)
!20 = distinct !DISubprogram(name: "kept", file: !3, line: 20, type: !5, unit: !1, spFlags: DISPFlagDefinition)
!21 = !DILocation(line: 22, column: 1, scope: !20)
