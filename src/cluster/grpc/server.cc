#include "cluster/grpc/server.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <grpcpp/server_posix.h>

#include <chrono>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "cluster/again.h"
#include "cluster/grpc/byte_buffer.h"

namespace gyre::cluster {
namespace {

// One client's link. Keeps itself until gRPC is done with it.
class ServerLink final : public ControlLink,
                         public grpc::ServerGenericBidiReactor,
                         public std::enable_shared_from_this<ServerLink> {
 public:
  void Start(const LinkAcceptor& acceptor) {
    handler_ = acceptor(shared_from_this());
    self_ = shared_from_this();
    StartRead(&incoming_);
  }

  void Send(std::string message) override {
    const std::lock_guard lock(mutex_);
    if (is_closing_) return;
    outgoing_.push_back(ToByteBuffer(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }
  // Once what was sent before is on its way.
  void Close() override {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
      if (!outgoing_.empty()) return;
    }
    End(grpc::Status::OK);
  }

  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status::OK);
    std::string message;
    if (!Again([&] { message = ToString(incoming_); })) return End(grpc::Status::CANCELLED);
    handler_->OnMessage(message);
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    bool ends = !ok;
    {
      const std::lock_guard lock(mutex_);
      outgoing_.pop_front();
      if (!ends && !outgoing_.empty()) return StartWrite(&outgoing_.front());
      ends = ends || is_closing_;
    }
    if (ends) End(grpc::Status::OK);
  }
  void OnCancel() override { End(grpc::Status::CANCELLED); }
  void OnDone() override {
    const std::shared_ptr<ServerLink> self = std::move(self_);
    std::exchange(handler_, nullptr)->OnClosed(absl::UnavailableError("its link was closed"));
  }

 private:
  void End(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
      if (std::exchange(has_ended_, true)) return;
    }
    Finish(status);
  }

  std::shared_ptr<LinkHandler> handler_;
  std::shared_ptr<ServerLink> self_;
  grpc::ByteBuffer incoming_;
  std::mutex mutex_;  // guards what follows
  bool is_closing_ = false, has_ended_ = false;
  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written
};

// For calls of what there is not.
class NoSuchMethod final : public grpc::ServerGenericBidiReactor {
 public:
  NoSuchMethod() { Finish(grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "no such method")); }
  void OnDone() override { delete this; }
};

class Service final : public grpc::CallbackGenericService {
 public:
  explicit Service(LinkAcceptor acceptor) : acceptor_(std::move(acceptor)) {}
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    if (context->method() != kAttach) return new NoSuchMethod;
    std::shared_ptr<ServerLink> link;
    const bool has_begun = Again([&] {
      link = std::make_shared<ServerLink>();
      link->Start(acceptor_);
    });
    return has_begun ? link.get() : nullptr;  // null: gRPC refuses the call
  }

 private:
  const LinkAcceptor acceptor_;
};

class GrpcServer final : public ControlServer {
 public:
  explicit GrpcServer(LinkAcceptor acceptor) : service_(std::move(acceptor)) {}
  ~GrpcServer() override {
    if (server_ == nullptr) return;
    server_->Shutdown(std::chrono::system_clock::now());  // what goes on is cancelled
    server_->Wait();
  }

  // It listens nowhere itself: the gate does.
  absl::Status Start() {
    constexpr int kKeepAliveMs = 2000;
    grpc::ServerBuilder builder;
    builder.RegisterCallbackGenericService(&service_);
    builder.SetMaxReceiveMessageSize(kMostLinkBytes);
    builder.SetMaxSendMessageSize(kMostLinkBytes);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveMs);
    server_ = builder.BuildAndStart();
    return server_ == nullptr ? absl::UnavailableError("gRPC does not start") : absl::OkStatus();
  }
  void Take(int socket) override { grpc::AddInsecureChannelFromFd(server_.get(), socket); }

 private:
  Service service_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ControlServer>> ServeGrpc(LinkAcceptor acceptor) {
  auto server = std::make_unique<GrpcServer>(std::move(acceptor));
  if (absl::Status status = server->Start(); !status.ok()) return status;
  return server;
}

}  // namespace gyre::cluster
