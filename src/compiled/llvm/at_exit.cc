// No object of this library, LLVM's included, goes when the process ends: exit() runs on one
// thread while others compile, and would take from them what they use.
//
// What a compiler writes for each static object that has a destructor is a call of this function,
// which otherwise is the C library's. LLVM is a part of this library (cmake/compiled.cmake), so
// its calls come here, too.
extern "C" __attribute__((visibility("hidden"))) int __cxa_atexit(void (*)(void*), void*, void*) {
  return 0;
}
