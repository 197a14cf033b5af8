; A probe costs the inliner nothing, and a little less in functions that ask for inlining: around it stay branches that would
; otherwise be gone.
; RUN: opt -passes=unseen-probes -S %s | FileCheck %s

$template = comdat any

; CHECK-LABEL: define void @plain(
; CHECK-NEXT: call void @__unseen_probe(i32 0){{$}}
define void @plain() {
  ret void
}

; CHECK-LABEL: define void @asks(
; CHECK-NEXT: call void @__unseen_probe(i32 1) #[[EAGER:[0-9]+]]
define void @asks() inlinehint {
  ret void
}

; CHECK-LABEL: define linkonce_odr void @template(
; CHECK-NEXT: call void @__unseen_probe(i32 2) #[[EAGER]]
define linkonce_odr void @template() comdat {
  ret void
}

; CHECK: declare void @__unseen_probe(i32) #[[PROBE:[0-9]+]]
; CHECK: attributes #[[PROBE]] = { {{.*}}"call-inline-cost"="0"
; CHECK: attributes #[[EAGER]] = { "call-inline-cost"="-2" }
