// grpc_peer server DIR | grpc_peer client DIR PORT DEPTH SECONDS PADDING
//
// gRPC C++ with mutual TLS behind warded.v1.Health, for tests/bench/run rpc. DIR holds
// ca.pem, cert.pem, key.pem. The server prints its port; the client prints one JSON
// object, as loop.py does. DEPTH 1 is the blocking stub, more is a completion queue.
#include <grpcpp/grpcpp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "warded/v1/health.grpc.pb.h"

using warded::v1::Health;
using warded::v1::HealthCheckReply;
using warded::v1::HealthCheckRequest;

namespace
{

constexpr double kWarmS = 0.7;

std::string ReadFile(const std::string &path)
{
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

class Service final : public Health::CallbackService
{
    grpc::ServerUnaryReactor *Check(grpc::CallbackServerContext *context,
                                    const HealthCheckRequest *request,
                                    HealthCheckReply *reply) override
    {
        reply->set_status(HealthCheckReply::SERVING);
        reply->set_padding(std::string(request->padding().size(), '\0'));
        auto *reactor = context->DefaultReactor();
        reactor->Finish(grpc::Status::OK);
        return reactor;
    }
};

int Serve(const std::string &dir)
{
    grpc::SslServerCredentialsOptions tls(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    tls.pem_root_certs = ReadFile(dir + "/ca.pem");
    tls.pem_key_cert_pairs.push_back(
        {ReadFile(dir + "/key.pem"), ReadFile(dir + "/cert.pem")});
    Service service;
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(tls), &port);
    builder.RegisterService(&service);
    auto server = builder.BuildAndStart();
    if (server == nullptr)
        return 1;
    std::cout << port << std::endl;
    server->Wait();
    return 0;
}

double Now()
{
    using Clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

double CpuUs()
{
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

// Counts as loop.py does; one thread uses it.
struct Meter {
    double start, end, cpu_us = -1;
    size_t calls = 0;
    std::vector<double> latencies;

    explicit Meter(double seconds) : start(Now() + kWarmS), end(start + seconds) {}

    void Add(double began, double ended)
    {
        calls++;
        if (cpu_us < 0 && ended >= start)
            cpu_us = CpuUs();
        if (ended >= start && ended <= end)
            latencies.push_back(ended - began);
    }

    int Print()
    {
        const size_t n = latencies.size();
        if (n == 0)
            return 1;
        const double used = CpuUs() - cpu_us;
        std::sort(latencies.begin(), latencies.end());
        std::printf("{\"rate\": %.1f, \"p50_us\": %.1f, \"p99_us\": %.1f, "
                    "\"client_us\": %.2f, \"calls\": %zu}\n",
                    n / (end - start), latencies[n / 2] * 1e6,
                    latencies[n * 99 / 100] * 1e6, used / n, calls);
        return 0;
    }
};

int Block(Health::Stub *stub, const HealthCheckRequest &request, double seconds)
{
    Meter meter(seconds);
    double now = Now();
    while (now < meter.end) {
        const double began = now;
        grpc::ClientContext context;
        HealthCheckReply reply;
        if (!stub->Check(&context, request, &reply).ok())
            return 1;
        now = Now();
        meter.Add(began, now);
    }
    return meter.Print();
}

struct Call {
    std::unique_ptr<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<HealthCheckReply>> reader;
    HealthCheckReply reply;
    grpc::Status status;
    double began = 0;
};

int Queue(Health::Stub *stub, const HealthCheckRequest &request, double seconds,
          int depth)
{
    grpc::CompletionQueue queue;
    std::vector<Call> calls(depth);
    Meter meter(seconds);
    int live = 0;
    auto start = [&](Call *call) {
        call->reader.reset();
        call->context = std::make_unique<grpc::ClientContext>();
        call->began = Now();
        call->reader = stub->AsyncCheck(call->context.get(), request, &queue);
        call->reader->Finish(&call->reply, &call->status, call);
        live++;
    };
    for (auto &call : calls)
        start(&call);
    void *tag = nullptr;
    bool ok = false;
    while (live > 0 && queue.Next(&tag, &ok)) {
        auto *call = static_cast<Call *>(tag);
        live--;
        if (!call->status.ok())
            return 1;
        const double now = Now();
        meter.Add(call->began, now);
        if (now < meter.end)
            start(call);
    }
    return meter.Print();
}

int Ask(const std::string &dir, const std::string &port, int depth, double seconds,
        int padding)
{
    grpc::SslCredentialsOptions tls;
    tls.pem_root_certs = ReadFile(dir + "/ca.pem");
    tls.pem_private_key = ReadFile(dir + "/key.pem");
    tls.pem_cert_chain = ReadFile(dir + "/cert.pem");
    auto channel = grpc::CreateChannel("127.0.0.1:" + port, grpc::SslCredentials(tls));
    auto stub = Health::NewStub(channel);
    HealthCheckRequest request;
    request.set_padding(std::string(padding, '\0'));
    request.set_brief(true);
    return depth == 1 ? Block(stub.get(), request, seconds)
                      : Queue(stub.get(), request, seconds, depth);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc == 3 && std::string(argv[1]) == "server")
        return Serve(argv[2]);
    if (argc == 7 && std::string(argv[1]) == "client")
        return Ask(argv[2], argv[3], std::atoi(argv[4]), std::atof(argv[5]),
                   std::atoi(argv[6]));
    return 2;
}
