; The paper's Figures 1 and 2: a parameter that is not used is not in the set, a callee's set is inherited with the argument
; in place of the parameter. Once with values in registers, once as unoptimised code keeps them, in stack slots.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

@a = global i32 0
@b = global i32 0

; CHECK-LABEL: function f
; CHECK-NEXT: reads [@a]:4
; CHECK-NEXT: reads arg0
; CHECK-NEXT: reads arg1
; CHECK-NEXT: function f1
define i32 @f(i32 %p1, i32 %p2, i32 %p3) {
  %a = load i32, ptr @a
  %t = add i32 %a, 1
  %c = icmp sgt i32 %p1, %p2
  br i1 %c, label %then, label %else
then:
  %r = add i32 8, %t
  ret i32 %r
else:
  %s = sub i32 %p2, %t
  ret i32 %s
}

; CHECK-NEXT: reads [@a]:4
; CHECK-NEXT: reads [@b]:4
; CHECK-NEXT: reads arg0
; CHECK-NEXT: reads arg1
; CHECK-NEXT: reads arg2
; CHECK-NEXT: function g
define i32 @f1(i32 %p1, i32 %p2, i32 %p3) {
  %a = load i32, ptr @a
  %t = add i32 %a, 1
  %c = icmp sgt i32 %p1, %p2
  br i1 %c, label %then, label %else
then:
  %r = call i32 @g(i32 %p3)
  ret i32 %r
else:
  %s = sub i32 %p2, %t
  ret i32 %s
}

; CHECK-NEXT: reads [@b]:4
; CHECK-NEXT: reads arg0
; CHECK-NEXT: function slots
define i32 @g(i32 %p) {
  %b = load i32, ptr @b
  %m = mul i32 %p, %b
  %b2 = load i32, ptr @b
  %r = sub i32 %m, %b2
  ret i32 %r
}

; CHECK-NEXT: reads [@b]:4
; CHECK-NEXT: reads arg0
define i32 @slots(i32 %p1, i32 %p2) {
  %p1.addr = alloca i32
  %p2.addr = alloca i32
  store i32 %p1, ptr %p1.addr
  store i32 %p2, ptr %p2.addr
  %p = load i32, ptr %p1.addr
  %r = call i32 @g(i32 %p)
  ret i32 %r
}
