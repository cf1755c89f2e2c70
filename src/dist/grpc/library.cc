// What libgyre_grpc.so exports.
#include "dist/grpc/client.h"
#include "dist/grpc/server.h"
#include "dist/grpc_library.h"

extern "C" __attribute__((visibility("default"))) const gyre::dist::GrpcLibrary gyre_grpc = {
    .dial = gyre::dist::DialGrpc, .serve = gyre::dist::ServeGrpc};
