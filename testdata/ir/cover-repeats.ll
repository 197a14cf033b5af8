; What is inlined twice has its probe twice: the second says nothing new, unless something was called that may have reset it.
; RUN: opt -passes='unseen-settle' -S %s | FileCheck %s

@__unseen_counters = internal global [4096 x i8] zeroinitializer, align 4096
@__unseen_epoch = internal global i32 1, align 4
declare void @__unseen_probe(i32)
declare void @other()

; CHECK-LABEL: define void @twice(
; CHECK-NEXT: store volatile i8 1, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 7), align 1
; CHECK-NEXT: br
; CHECK: a:
; CHECK-NEXT: br
; CHECK: b:
; CHECK-NEXT: call void @other()
; CHECK-NEXT: store volatile i8 1, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 7), align 1
; CHECK-NEXT: ret
define void @twice(i1 %c) {
  call void @__unseen_probe(i32 7)
  br i1 %c, label %a, label %b
a:
  call void @__unseen_probe(i32 7)
  br label %b
b:
  call void @__unseen_probe(i32 7)
  call void @other()
  call void @__unseen_probe(i32 7)
  ret void
}

; Neighbours become one store, but not across a call that may not return.
; CHECK-LABEL: define void @neighbours(
; CHECK-NEXT: store volatile i32 16843009, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 20), align 1
; CHECK-NEXT: store volatile i16 257, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 24), align 1
; CHECK-NEXT: store volatile i8 1, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 30), align 1
; CHECK-NEXT: call void @other()
; CHECK-NEXT: store volatile i8 1, ptr getelementptr inbounds (i8, ptr @__unseen_counters, i64 26), align 1
; CHECK-NEXT: ret
define void @neighbours() {
  call void @__unseen_probe(i32 22)
  call void @__unseen_probe(i32 30)
  call void @__unseen_probe(i32 21)
  call void @__unseen_probe(i32 20)
  call void @__unseen_probe(i32 25)
  call void @__unseen_probe(i32 23)
  call void @__unseen_probe(i32 24)
  call void @other()
  call void @__unseen_probe(i32 26)
  ret void
}
