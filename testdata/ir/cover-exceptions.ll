; Probes go behind landing pads and phis; the edges of an invoke are not split. What follows an invoke is told by its block,
; as what follows a call is.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s

; CHECK-LABEL: define void @f()
; CHECK-NEXT: entry:
; CHECK-NEXT: store volatile i8 1
; CHECK-NEXT: invoke void @g()
; CHECK-NEXT: to label %ok unwind label %pad
; CHECK: ok:
; CHECK-NEXT: ret void
; CHECK: pad:
; CHECK-NEXT: %p = landingpad
; CHECK-NEXT: cleanup
; CHECK-NEXT: store volatile i8 1
; CHECK-NEXT: resume
define void @f() personality ptr @personality {
entry:
  invoke void @g() to label %ok unwind label %pad
ok:
  ret void
pad:
  %p = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %p
}
declare void @g()
declare i32 @personality(...)
