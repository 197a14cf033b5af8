; A unit is inlined where it would be without tests: 60 instructions in one block are not too many, and what it asks does not count.
; RUN: UNSEEN_BUILD=state opt -passes='unseen-probes,cgscc(inline)' -S %s | FileCheck %s
; RUN: opt -passes='cgscc(inline)' -S %s | FileCheck %s --check-prefix=PLAIN

%test = type { ptr, ptr, ptr }

@first = internal constant %test { ptr @mix, ptr null, ptr @mix_is_well }, section "unseen_tests"
@llvm.used = appending global [1 x ptr] [ptr @first], section "llvm.metadata"

; CHECK: define i64 @twice(i64 %a)
; CHECK-NOT: call i64 @mix
; CHECK: load volatile i8, ptr @__unseen_state_gates
; CHECK: call preserve_mostcc void @__unseen_state_call_ask.mix(i64 %a,
; CHECK-NOT: call i64 @mix
; CHECK: }
; PLAIN: define i64 @twice(i64 %a)
; PLAIN-NOT: call i64 @mix
; PLAIN: ret i64
define i64 @twice(i64 %a) {
  %r = call i64 @mix(i64 %a)
  %s = call i64 @mix(i64 %r)
  ret i64 %s
}

define internal i32 @mix_is_well(i64 %a) {
  ret i32 1
}

define i64 @mix(i64 %a) {
  %m0 = mul i64 %a, 3
  %x0 = xor i64 %m0, %a
  %m1 = mul i64 %x0, 5
  %x1 = xor i64 %m1, %a
  %m2 = mul i64 %x1, 7
  %x2 = xor i64 %m2, %a
  %m3 = mul i64 %x2, 9
  %x3 = xor i64 %m3, %a
  %m4 = mul i64 %x3, 11
  %x4 = xor i64 %m4, %a
  %m5 = mul i64 %x4, 13
  %x5 = xor i64 %m5, %a
  %m6 = mul i64 %x5, 15
  %x6 = xor i64 %m6, %a
  %m7 = mul i64 %x6, 17
  %x7 = xor i64 %m7, %a
  %m8 = mul i64 %x7, 19
  %x8 = xor i64 %m8, %a
  %m9 = mul i64 %x8, 21
  %x9 = xor i64 %m9, %a
  %m10 = mul i64 %x9, 23
  %x10 = xor i64 %m10, %a
  %m11 = mul i64 %x10, 25
  %x11 = xor i64 %m11, %a
  %m12 = mul i64 %x11, 27
  %x12 = xor i64 %m12, %a
  %m13 = mul i64 %x12, 29
  %x13 = xor i64 %m13, %a
  %m14 = mul i64 %x13, 31
  %x14 = xor i64 %m14, %a
  %m15 = mul i64 %x14, 33
  %x15 = xor i64 %m15, %a
  %m16 = mul i64 %x15, 35
  %x16 = xor i64 %m16, %a
  %m17 = mul i64 %x16, 37
  %x17 = xor i64 %m17, %a
  %m18 = mul i64 %x17, 39
  %x18 = xor i64 %m18, %a
  %m19 = mul i64 %x18, 41
  %x19 = xor i64 %m19, %a
  %m20 = mul i64 %x19, 43
  %x20 = xor i64 %m20, %a
  %m21 = mul i64 %x20, 45
  %x21 = xor i64 %m21, %a
  %m22 = mul i64 %x21, 47
  %x22 = xor i64 %m22, %a
  %m23 = mul i64 %x22, 49
  %x23 = xor i64 %m23, %a
  %m24 = mul i64 %x23, 51
  %x24 = xor i64 %m24, %a
  %m25 = mul i64 %x24, 53
  %x25 = xor i64 %m25, %a
  %m26 = mul i64 %x25, 55
  %x26 = xor i64 %m26, %a
  %m27 = mul i64 %x26, 57
  %x27 = xor i64 %m27, %a
  %m28 = mul i64 %x27, 59
  %x28 = xor i64 %m28, %a
  %m29 = mul i64 %x28, 61
  %x29 = xor i64 %m29, %a
  ret i64 %x29
}
