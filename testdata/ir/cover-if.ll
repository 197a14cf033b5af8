; An `if` without `else`: the block of the decision is told by its two ways, the critical edge gets a block of its
; own, and the join behind them needs no probe.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s
; RUN: opt -passes=unseen-print -disable-output %s | FileCheck %s --check-prefix=PLAN

; CHECK: @__unseen_counters = internal global [4096 x i8] zeroinitializer, align 4096
; CHECK: @__unseen_module = internal constant { i32, i32, [16 x i8], ptr, i64, ptr } { i32 48, i32 1, [16 x i8] c"{{.*}}", ptr @__unseen_counters, i64 2, ptr @__unseen_epoch }
; CHECK: @llvm.global_ctors = appending global {{.*}} i32 0, ptr @__unseen_enter, ptr null
; CHECK: @llvm.global_dtors = appending global {{.*}} i32 0, ptr @__unseen_leave, ptr null

; PLAN: function f: cover
; PLAN-NEXT: entry [0, 1]
; PLAN-NEXT: probe 0 block 1
; PLAN-NEXT: probe 1 edge 0 successor 1
; PLAN-NEXT: statements 2:7 4:3 by [0, 1]
; PLAN-NEXT: statements 3:5 by [0]
; PLAN-NEXT: branch 2:7 true [0] false [1]
; PLAN-NEXT: function g: left: external

define void @f(i1 %c) !dbg !4 {
; CHECK-LABEL: define void @f(
; CHECK-NEXT: entry:
; CHECK-NEXT: br i1 %c, label %then, label %[[EDGE:[^,]+]]
entry:
  br i1 %c, label %then, label %end, !dbg !7

; CHECK: [[EDGE]]:
; CHECK-NEXT: store volatile i8 1, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 1), align 1, !dbg
; CHECK-NEXT: br label %end
; CHECK: then:
; CHECK-NEXT: store volatile i8 1, ptr @__unseen_counters, align 1, !dbg
; CHECK-NEXT: call void @g()
then:
  call void @g(), !dbg !8
  br label %end, !dbg !8

; CHECK: end:
; CHECK-NEXT: call void @g()
; CHECK-NEXT: ret void
end:
  call void @g(), !dbg !9
  ret void, !dbg !10
}

declare void @g()

; CHECK: define internal void @__unseen_enter()
; CHECK-NEXT: call void @__unseen_abi_v1(ptr @__unseen_module)
; CHECK: define internal void @__unseen_leave()
; CHECK-NEXT: call void @__unseen_leave_v1(ptr @__unseen_module)

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "a.c", directory: "/src")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 2, column: 7, scope: !4)
!8 = !DILocation(line: 3, column: 5, scope: !4)
!9 = !DILocation(line: 4, column: 3, scope: !4)
!10 = !DILocation(line: 5, column: 1, scope: !4)
