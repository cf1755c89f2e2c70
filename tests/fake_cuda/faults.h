// What tests tell the fake driver (driver.cc): to fail, to lose its GPUs, to stand still. They find
// these functions with dlsym. Any thread.
#pragma once

extern "C" {

// After `after` more calls of the function called `call` ("cuMemcpyHtoDAsync"; "work": a piece of
// work in a stream, as the GPU comes to it), the next one fails with error `error`. If `is_lost`,
// so does every call from then on.
void FakeCudaFail(const char* call, int after, int error, int is_lost);
// How much memory GPUs have, all together.
void FakeCudaLimitMemory(long bytes);
// How much of it is in use.
long FakeCudaUsedMemory();
// Whether GPUs stand still: no copy comes to an end.
void FakeCudaStall(int stalls);
// No more faults; GPUs that were lost, and all of their memory, are there again.
void FakeCudaReset();
// How often the function has been called.
int FakeCudaCalls(const char* call);
// How often a copy had to wait, or to copy by itself, because the host's memory was not pinned.
int FakeCudaPageableCopies();
}
