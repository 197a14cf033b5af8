; Probes alias nothing of the program's: the load moves out of the loop although a probe is stored in it.
; RUN: opt -passes='unseen-cover,function(loop-simplify,lcssa,loop-mssa(loop-rotate,licm))' -S %s | FileCheck %s

; CHECK-LABEL: define i32 @sum(
; CHECK: load i32, ptr %p
; CHECK: body:
; CHECK-NOT: load i32, ptr %p
; CHECK: ret
define i32 @sum(ptr %p, i32 %n, ptr %q) {
entry:
  br label %head
head:
  %i = phi i32 [ 0, %entry ], [ %next, %body ]
  %s = phi i32 [ 0, %entry ], [ %t, %body ]
  %more = icmp slt i32 %i, %n
  br i1 %more, label %body, label %end
body:
  %v = load i32, ptr %p, !tbaa !0
  %t = add i32 %s, %v
  %next = add i32 %i, 1
  br label %head
end:
  store i32 %s, ptr %q, !tbaa !0
  ret i32 %s
}
!0 = !{!1, !1, i64 0}
!1 = !{!"int", !2, i64 0}
!2 = !{!"omnipotent char", !3, i64 0}
!3 = !{!"Simple C/C++ TBAA"}
