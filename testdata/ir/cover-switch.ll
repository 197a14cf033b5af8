; Cases that lead to the same block are one arm, named by the first; critical edges of a switch are split once.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=PLAN

; PLAN: entry [0, 1, 2]
; PLAN: branch 1:3 default [2] case -1 [0] case 3 [1]

; CHECK: switch i8 %x, label %[[DEFAULT:[^ ]+]] [
; CHECK-NEXT: i8 -1, label %a
; CHECK-NEXT: i8 2, label %a
; CHECK-NEXT: i8 3, label %b
; CHECK-NEXT: i8 4, label %b
; CHECK: [[DEFAULT]]:
; CHECK-NEXT: store volatile i8 1, {{.*}} i64 2
; CHECK-NEXT: br label %end
define i32 @f(i8 %x) !dbg !4 {
entry:
  switch i8 %x, label %end [
    i8 -1, label %a
    i8 2, label %a
    i8 3, label %b
    i8 4, label %b
  ], !dbg !7
a:
  br label %end
b:
  br label %end
; The values that came from the switch now come from the edge.
; CHECK: end:
; CHECK-NEXT: %v = phi i32 [ 0, %[[DEFAULT]] ], [ 1, %a ], [ 2, %b ]
end:
  %v = phi i32 [ 0, %entry ], [ 1, %a ], [ 2, %b ]
  ret i32 %v
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 1, column: 3, scope: !4)
