; What is not instrumented, and why.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=PLAN
; RUN: UNSEEN_STD=on opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=STD
; RUN: UNSEEN_EXCLUDE='**/mine.rs' opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=EXCLUDE
; RUN: UNSEEN_BUILD=none opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=NONE

; PLAN-NOT: __unseen_own
; PLAN: function bare: left: naked
; PLAN: function skipped: left: excluded by attribute
; PLAN: function unprofiled: left: excluded by attribute
; PLAN: function copy: left: available externally
; PLAN: function outside: left: external
; PLAN: function library: left: standard library
; PLAN: function mine: cover
; STD: function library: cover
; EXCLUDE: function mine: left: excluded by configuration
; NONE: function mine: left: no mechanism chosen

; CHECK-LABEL: define void @__unseen_own()
; CHECK-NEXT: ret void
define void @__unseen_own() {
  ret void
}
; CHECK-LABEL: define void @bare()
; CHECK-NEXT: unreachable
define void @bare() naked {
  unreachable
}
; CHECK-LABEL: define void @skipped()
; CHECK-NEXT: ret void
define void @skipped() nosanitize_coverage {
  ret void
}
define void @unprofiled() noprofile {
  ret void
}
define available_externally void @copy() {
  ret void
}
declare void @outside()
; CHECK-LABEL: define void @library()
; CHECK-NEXT: ret void
define void @library() !dbg !4 {
  ret void
}
; CHECK-LABEL: define void @mine()
; CHECK-NEXT: store volatile i8 1
define void @mine() !dbg !7 {
  call void @outside(), !dbg !8
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "/rustc/0123/library/core/src/option.rs", directory: "")
!2 = !DIFile(filename: "src/mine.rs", directory: "/home/u")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "library", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = distinct !DISubprogram(name: "mine", file: !2, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 2, column: 1, scope: !7)
