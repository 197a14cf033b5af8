; A Rust panic reads counters and a hook that no set lists. A unit that catches it has returned all the same: it must be opaque.
; Found by `unseen verify`: std::panic::catch_unwind in a program with a hook.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

; CHECK: function panics
; CHECK-NEXT: reads arg0
; CHECK-NEXT: ends panic
define internal i32 @panics(i32 %x) {
  %zero = icmp eq i32 %x, 0
  br i1 %zero, label %bad, label %good
bad:
  call void @_ZN4core9panicking11panic_const23panic_const_div_by_zero17h0123456789abcdefE()
  unreachable
good:
  %y = sdiv i32 8, %x
  ret i32 %y
}

; CHECK: function cleans
; CHECK-NEXT: reads arg0
; CHECK-NEXT: ends panic
define i32 @cleans(i32 %x) personality ptr @rust_eh_personality {
  %y = invoke i32 @panics(i32 %x) to label %good unwind label %bad
good:
  ret i32 %y
bad:
  %pad = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %pad
}

; CHECK: function catches
; CHECK-NEXT: reads arg0
; CHECK-NEXT: opaque panic
define i32 @catches(i32 %x) personality ptr @rust_eh_personality {
  %y = invoke i32 @cleans(i32 %x) to label %good unwind label %bad
good:
  ret i32 %y
bad:
  %pad = landingpad { ptr, i32 } catch ptr null
  ret i32 0
}

declare void @_ZN4core9panicking11panic_const23panic_const_div_by_zero17h0123456789abcdefE() noreturn
declare i32 @rust_eh_personality(...)
