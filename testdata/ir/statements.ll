; What counts as a statement: code, and jumps and returns where a block has nothing else. Not: stack slots, markers,
; instructions of line 0, the load of the result at the closing brace.
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s

; CHECK: statements 2:1 by
; CHECK-NEXT: statements 3:1 by
; CHECK-NEXT: statements 4:1 by
; CHECK-NEXT: branch
define i32 @f(i1 %c) !dbg !4 {
  %r = alloca i32, !dbg !19
  call void @llvm.lifetime.start.p0(ptr %r), !dbg !19
  store i32 0, ptr %r, !dbg !10
  br i1 %c, label %a, label %b, !dbg !12
a:                                      ; return;
  br label %end, !dbg !13
b:                                      ; x = 1; }
  store i32 1, ptr %r, !dbg !14
  br label %end, !dbg !19
end:                                    ; }
  %v = load i32, ptr %r, !dbg !19
  ret i32 %v, !dbg !19
}
declare void @llvm.lifetime.start.p0(ptr)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!10 = !DILocation(line: 0, column: 0, scope: !4)
!12 = !DILocation(line: 2, column: 1, scope: !4)
!13 = !DILocation(line: 3, column: 1, scope: !4)
!14 = !DILocation(line: 4, column: 1, scope: !4)
!19 = !DILocation(line: 9, column: 1, scope: !4)
