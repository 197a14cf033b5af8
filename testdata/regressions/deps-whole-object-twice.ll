; All of an object is read through two pointers into it: each of the two entries includes the other, and one of them must stay.
; Found by `unseen verify`: the insertion into a leaf of Rust's BTreeMap.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

; CHECK: function caller
; CHECK-NEXT: reads {{\[\[arg0\].*}}:object
; CHECK-NEXT: reads [arg0]:8
define i8 @caller(ptr %self, i64 %i) {
  %node = load ptr, ptr %self
  %second = getelementptr i8, ptr %node, i64 184
  %a = call i8 @moves(ptr %node, i64 %i)
  %b = call i8 @shifts(ptr %second, i64 %i)
  %length = getelementptr i8, ptr %node, i64 230
  %c = load i8, ptr %length
  %ab = add i8 %a, %b
  %abc = add i8 %ab, %c
  ret i8 %abc
}

define internal i8 @moves(ptr %p, i64 %i) {
  %from = getelementptr [16 x i8], ptr %p, i64 %i
  %to = getelementptr i8, ptr %from, i64 16
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %i, i1 false)
  ret i8 0
}

define internal i8 @shifts(ptr %p, i64 %i) {
  %from = getelementptr [4 x i8], ptr %p, i64 %i
  %to = getelementptr i8, ptr %from, i64 4
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %i, i1 false)
  ret i8 0
}
