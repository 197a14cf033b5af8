; A second run changes nothing.
; RUN: diff <(opt -passes=unseen-cover -S %s) <(opt -passes=unseen-cover,unseen-cover -S %s)
; RUN: opt -passes=unseen-cover,unseen-cover,verify -S %s | FileCheck %s

; CHECK: store volatile i8 1, ptr @__unseen_counters
; CHECK-NOT: store volatile i8 1
define void @f() {
  ret void
}
