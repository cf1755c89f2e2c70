#include "cluster/grpc/client.h"

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "cluster/again.h"
#include "cluster/grpc/byte_buffer.h"

namespace gyre::cluster {
namespace {

using Reactor = grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;

// Keeps itself until gRPC is done with it.
class ClientLink final : public ControlLink,
                         public Reactor,
                         public std::enable_shared_from_this<ClientLink> {
 public:
  ClientLink(const std::shared_ptr<grpc::Channel>& channel, std::shared_ptr<LinkHandler> handler)
      : stub_(channel), handler_(std::move(handler)) {}

  void Start() {
    self_ = shared_from_this();
    stub_.PrepareBidiStreamingCall(&context_, kAttach, {}, this);
    StartRead(&incoming_);
    // Until Close, more may be written at any time.
    AddHold();
    StartCall();
  }

  void Send(std::string message) override {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    outgoing_.push_back(ToByteBuffer(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }
  void Close() override {
    context_.TryCancel();
    StopWriting();
  }

  void OnReadDone(bool ok) override {
    if (!ok) return StopWriting();
    std::string message;
    if (!Again([&] { message = ToString(incoming_); })) return Close();
    handler_->OnMessage(message);
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return StopWriting();
    const std::lock_guard lock(mutex_);
    outgoing_.pop_front();
    if (!outgoing_.empty() && !is_closed_) StartWrite(&outgoing_.front());
  }
  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<ClientLink> self = std::move(self_);
    std::exchange(handler_, nullptr)->OnClosed(ToAbsl(status));
  }

 private:
  void StopWriting() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(is_closed_, true)) return;
    }
    RemoveHold();
  }

  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<LinkHandler> handler_;
  std::shared_ptr<ClientLink> self_;
  grpc::ByteBuffer incoming_;
  std::mutex mutex_;  // guards what follows
  bool is_closed_ = false;
  std::deque<grpc::ByteBuffer> outgoing_;  // the first is being written
};

// gRPC ends the threads that run callbacks with the last channel that uses them, and joins them
// then: also where one of them destroys that channel, as OnDone does, and goes on without a queue.
// So one channel stays, without a connection, on which a call has failed.
void KeepCallbackThreads() {
  struct Failing {
    grpc::ClientContext context;
    grpc::ByteBuffer request = ToByteBuffer(""), response;
  };
  // Used by nobody: without the attribute, nothing would point to it, and it would be a leak.
  [[gnu::used]] static const auto* const channel = [] {
    auto* const made = new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("", nullptr));
    auto* const call = new Failing;
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer>(*made).UnaryCall(
        &call->context, kAttach, {}, &call->request, &call->response,
        [call](const grpc::Status&) { delete call; });
    return made;
  }();
}

}  // namespace

std::shared_ptr<ControlLink> DialGrpc(int socket, const std::string& address,
                                      std::shared_ptr<LinkHandler> handler) {
  KeepCallbackThreads();
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostLinkBytes);
  arguments.SetMaxSendMessageSize(kMostLinkBytes);
  const auto channel = grpc::CreateCustomInsecureChannelFromFd(address, socket, arguments);
  auto link = std::make_shared<ClientLink>(channel, std::move(handler));
  link->Start();
  return link;
}

}  // namespace gyre::cluster
