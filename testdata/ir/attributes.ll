; A function that sets counters is neither free of memory effects nor speculatable any more.
; RUN: opt -passes=unseen-cover,verify -S %s | FileCheck %s

; CHECK: define i32 @pure(i32 %x) #[[A:[0-9]+]]
; CHECK: attributes #[[A]] = { nounwind willreturn }
define i32 @pure(i32 %x) memory(none) speculatable willreturn nounwind {
  ret i32 %x
}
