; Edges of an indirect branch can't be split: the blocks it leads to have their own probes.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s

; CHECK: a:
; CHECK-NEXT: store volatile i8 1
; CHECK-NEXT: indirectbr
; CHECK: b:
; CHECK-NEXT: store volatile i8 1
; CHECK-NEXT: ret void
define void @f(ptr %p) {
  indirectbr ptr %p, [label %a, label %b]
a:
  indirectbr ptr %p, [label %a, label %b]
b:
  ret void
}
