// What libgyre_grpc.so exports.
#include "cluster/grpc/client.h"
#include "cluster/grpc/server.h"
#include "cluster/grpc_library.h"

extern "C" __attribute__((visibility("default"))) const gyre::cluster::GrpcLibrary gyre_grpc = {
    .dial = gyre::cluster::DialGrpc, .serve = gyre::cluster::ServeGrpc};
