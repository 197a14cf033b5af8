; A check that a sanitizer added is no decision of the source; what follows it is still told apart.
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s

; CHECK: function f: cover
; CHECK: statements {{.*}}2:7
; CHECK-NOT: branch 2:7
; CHECK: branch 3:7 true
; CHECK-NOT: branch
define i32 @f(i32 %a, i32 %b) !dbg !4 {
entry:
  %pair = call { i32, i1 } @llvm.sadd.with.overflow.i32(i32 %a, i32 %b), !dbg !7, !nosanitize !6
  %sum = extractvalue { i32, i1 } %pair, 0, !dbg !7, !nosanitize !6
  %bad = extractvalue { i32, i1 } %pair, 1, !dbg !7, !nosanitize !6
  br i1 %bad, label %handler, label %cont, !dbg !7, !nosanitize !6

handler:
  call void @handle(), !dbg !7, !nosanitize !6
  br label %cont, !dbg !7, !nosanitize !6

cont:
  %c = icmp sgt i32 %sum, 0, !dbg !8
  br i1 %c, label %then, label %end, !dbg !8

then:
  call void @g(), !dbg !9
  br label %end, !dbg !9

end:
  ret i32 %sum, !dbg !10
}

declare { i32, i1 } @llvm.sadd.with.overflow.i32(i32, i32)
declare void @handle()
declare void @g()

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, column: 7, scope: !4)
!8 = !DILocation(line: 3, column: 7, scope: !4)
!9 = !DILocation(line: 4, column: 5, scope: !4)
!10 = !DILocation(line: 5, column: 1, scope: !4)
