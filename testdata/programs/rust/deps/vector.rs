// The sum of a vector's elements. An iterator's end may be a pointer or, for types without size, a number of elements:
// the analysis follows both.
// f reads v->buf.inner.ptr; v->buf.inner.ptr[0+2*k..2+2*k]; v->len; v->len[0+2*k..2+2*k]
#[unsafe(no_mangle)]
pub fn vector_f(v: &Vec<u16>) -> u64 { v.iter().map(|x| u64::from(*x)).sum() }
