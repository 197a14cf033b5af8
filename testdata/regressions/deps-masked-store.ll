; What is stored where depends on the mask: a parameter that is only used as one counts.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

; CHECK: function stores
; CHECK: reads arg1
define void @stores(ptr %to, <2 x i1> %mask) {
  call void @llvm.masked.store.v2f32.p0(<2 x float> zeroinitializer, ptr align 1 %to, <2 x i1> %mask)
  ret void
}
