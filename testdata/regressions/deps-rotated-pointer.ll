; A pointer that is stored with its bits rotated points nowhere: who follows it in memory does not find what the function reads after
; it rotated them back. Rust does that by a distance that is computed of the pointer itself, without a promise that the result is inside.
; Found by `unseen verify`: semver's Identifier.
; RUN: opt -passes=unseen-deps -disable-output %s | FileCheck %s

; CHECK: function rotated
; CHECK: opaque integer-to-pointer
define i8 @rotated(ptr %held) {
  %p = load ptr, ptr %held
  %n = ptrtoint ptr %p to i64
  %back = shl i64 %n, 1
  %distance = sub i64 %back, %n
  %q = getelementptr i8, ptr %p, i64 %distance
  %v = load i8, ptr %q
  ret i8 %v
}

; The distance may be computed by one function and gone by another.
; CHECK: function goes
; CHECK-NOT: opaque
; CHECK: function calls
; CHECK: opaque integer-to-pointer
define internal ptr @goes(ptr %p, i64 %distance) {
  %q = getelementptr i8, ptr %p, i64 %distance
  ret ptr %q
}
define i8 @calls(ptr %held, i64 %distance) {
  %p = load ptr, ptr %held
  %q = call ptr @goes(ptr %p, i64 %distance)
  %v = load i8, ptr %q
  ret i8 %v
}

; What stays inside is found from where it starts.
; CHECK: function inside
; CHECK-NOT: opaque
define i8 @inside(ptr %p, i64 %i) {
  %q = getelementptr inbounds i8, ptr %p, i64 %i
  %v = load i8, ptr %q
  ret i8 %v
}

; So is what can't be far away: variable arguments are read like this.
; CHECK: function near
; CHECK-NOT: opaque
define i8 @near(ptr %p, i32 %i) {
  %q = getelementptr i8, ptr %p, i32 %i
  %v = load i8, ptr %q
  ret i8 %v
}
