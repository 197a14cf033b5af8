/* unseen.h: what C and C++ programs can say to Unseen.
 *
 * A program does not need this header to be built with Unseen. It is for programs that want to know whether they are being
 * recorded, or to keep a function out of it. With any other compiler, or when nothing is recorded, everything here
 * is still there and does nothing: no library has to be linked, no #ifdef is needed around it.
 *
 *     #include <unseen.h>
 *
 *     UNSEEN_SKIP static void spin(void) { ... }       // not instrumented
 *
 *     load_everything();
 *     unseen_cover_reset();                            // only what is served counts, not what is loaded
 *     serve();
 *
 * C99 or later, C++11 or later, GCC and Clang on ELF systems.
 */
#ifndef UNSEEN_H
#define UNSEEN_H

/* Version of this header: major * 10000 + minor * 100 + patch. */
#define UNSEEN_VERSION 100

/* Put in front of a function: Unseen leaves it as it is, and the manifest says "excluded by attribute". What it calls is
 * instrumented all the same. Profilers of the compiler itself leave the function alone as well. */
#if defined(__GNUC__) || defined(__clang__)
#define UNSEEN_SKIP __attribute__((no_profile_instrument_function))
#else
#define UNSEEN_SKIP
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime's side, which is there in programs built with Unseen. Do not call these directly. */
#if defined(__GNUC__) || defined(__clang__)
extern int __unseen_active(void) __attribute__((weak));
extern void __unseen_cover_reset(void) __attribute__((weak));
#define UNSEEN_CALL_IF_THERE(hook, otherwise) (hook ? hook() : otherwise)
#else
#define UNSEEN_CALL_IF_THERE(hook, otherwise) (otherwise)
#endif

/* Whether this process is being recorded right now: 1 or 0. It is 0 in a program built without Unseen, under UNSEEN=off,
 * without a store (UNSEEN_DIR), and where the store can't be written. May be called from anywhere, signal handlers included. */
UNSEEN_SKIP static inline int unseen_active(void) { return UNSEEN_CALL_IF_THERE(__unseen_active, 0); }

/* Forgets what this process has covered so far. A program calls it after the part that should not count (start-up,
 * loading). What its parent process and other processes of the run have covered stays. May be called from anywhere,
 * signal handlers included. */
UNSEEN_SKIP static inline void unseen_cover_reset(void) { UNSEEN_CALL_IF_THERE(__unseen_cover_reset, (void)0); }

#undef UNSEEN_CALL_IF_THERE

#ifdef __cplusplus
}
#endif

#endif
