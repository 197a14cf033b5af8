; A unit that nobody calls is removed while the program is optimised, with its trace; the copy that should have become that is left.
; RUN: UNSEEN_BUILD=state opt -passes=unseen-probes,globaldce,unseen-traces -S %s | FileCheck %s

%test = type { ptr, ptr, ptr, i64 }

@first = internal constant %test { ptr @unused, ptr null, ptr null, i64 2 }, section "unseen_tests"
@second = internal constant %test { ptr @used, ptr null, ptr null, i64 2 }, section "unseen_tests"
@llvm.used = appending global [2 x ptr] [ptr @first, ptr @second], section "llvm.metadata"

; CHECK-NOT: {{_(copy|trace|look|ask)\.unused}}
; CHECK: define internal { i64, i64 } @__unseen_state_call_trace.used(ptr %0)
; CHECK-NOT: {{_(copy|trace|look|ask)\.unused}}
define internal i32 @unused(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}

define i32 @used(ptr %p) {
  %v = load i32, ptr %p
  ret i32 %v
}
