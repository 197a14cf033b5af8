; What a call copies to pass it by value is read, and of vectors only the elements that the mask chooses are.
; RUN: UNSEEN_BUILD=access opt -passes=unseen-probes -S %s | FileCheck %s

%pair = type { i64, [3 x i64] }

; CHECK: define internal i64 @passes.watched(ptr %p)
; CHECK: call void @__unseen_access_read(ptr %p, i64 32, i32
; CHECK-NEXT: call i64 @takes(ptr byval(%pair) %p)
define i64 @passes(ptr %p) {
  %v = call i64 @takes(ptr byval(%pair) %p)
  ret i64 %v
}

; CHECK: define internal i64 @passes_through_pointer.watched(ptr %f, ptr %p)
; CHECK: call void @__unseen_access_read(ptr %p, i64 32, i32
; CHECK-NEXT: call i64 %f(ptr byval(%pair) %p)
define i64 @passes_through_pointer(ptr %f, ptr %p) {
  %v = call i64 %f(ptr byval(%pair) %p)
  ret i64 %v
}

; CHECK: define internal i64 @takes.watched(ptr byval(%pair) %pair)
define i64 @takes(ptr byval(%pair) %pair) {
  %v = load i64, ptr %pair
  ret i64 %v
}

; CHECK: define internal void @masked.watched(ptr %from, ptr %to, <2 x i1> %mask)
; CHECK: [[SECOND:%[0-9]+]] = getelementptr i8, ptr %from, i64 4
; CHECK: [[CHOSEN:%[0-9]+]] = extractelement <2 x i1> %mask, i32 1
; CHECK: [[BYTES:%[0-9]+]] = select i1 [[CHOSEN]], i64 4, i64 0
; CHECK: call void @__unseen_access_read(ptr [[SECOND]], i64 [[BYTES]], i32
; CHECK-NEXT: call <2 x float> @llvm.masked.load
; CHECK: [[SECOND:%[0-9]+]] = getelementptr i8, ptr %to, i64 4
; CHECK: [[CHOSEN:%[0-9]+]] = extractelement <2 x i1> %mask, i32 1
; CHECK: [[BYTES:%[0-9]+]] = select i1 [[CHOSEN]], i64 4, i64 0
; CHECK: call void @__unseen_access_write(ptr [[SECOND]], i64 [[BYTES]])
; CHECK-NEXT: call void @llvm.masked.store
define void @masked(ptr %from, ptr %to, <2 x i1> %mask) {
  %v = call <2 x float> @llvm.masked.load.v2f32.p0(ptr align 1 %from, <2 x i1> %mask, <2 x float> zeroinitializer)
  call void @llvm.masked.store.v2f32.p0(<2 x float> %v, ptr align 1 %to, <2 x i1> %mask)
  ret void
}

; Side by side they are one range.
; CHECK: define internal void @packed.watched(ptr %from, ptr %to, <2 x i1> %mask)
; CHECK: [[SUM:%[0-9]+]] = add i64
; CHECK-NEXT: call void @__unseen_access_read(ptr %from, i64 [[SUM]], i32
; CHECK-NEXT: call <2 x float> @llvm.masked.expandload
; CHECK: [[SUM:%[0-9]+]] = add i64
; CHECK-NEXT: call void @__unseen_access_write(ptr %to, i64 [[SUM]])
; CHECK-NEXT: call void @llvm.masked.compressstore
define void @packed(ptr %from, ptr %to, <2 x i1> %mask) {
  %v = call <2 x float> @llvm.masked.expandload.v2f32(ptr %from, <2 x i1> %mask, <2 x float> zeroinitializer)
  call void @llvm.masked.compressstore.v2f32(<2 x float> %v, ptr %to, <2 x i1> %mask)
  ret void
}
