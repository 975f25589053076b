#include "net/http_client.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include "core/error.hpp"
#include "core/text.hpp"
#include "core/units.hpp"
#include "net/transfer_error.hpp"

namespace shardkit::net {

bool StallWatch::waited(system::Seconds duration, double bytes_per_second) {
  const system::Seconds quarter = limit_.window / quarters_.size();
  for (waited_ += duration; waited_ >= quarter; waited_ -= quarter) {
    if (++looks_ >= quarters_.size() && bytes() < bytes_per_second * limit_.window.count()) return true;
    quarters_[looks_ % quarters_.size()] = 0;  // the oldest
  }
  return false;
}

namespace {

constexpr int kPollMs = 200;
constexpr long kReadBufferBytes = 256L << 10U;
constexpr long kUploadBufferBytes = 1L << 20U;
constexpr long kLeastReadBufferBytes = 1024;  // of libcurl

/// libcurl's own start-up, once per process and never undone: other threads may be using it until the end.
void initialize_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw Error(ErrorCode::unsupported, "libcurl cannot be initialized");
}

/// Whether a name server says that there is no such host. libcurl does not distinguish this from a resolver that fails
/// for a moment. On a thread of its own, because a stop cannot end the call.
bool is_unknown_host(const std::string& host, const std::stop_token& stop) {
  constexpr auto kPatience = std::chrono::seconds(5);
  const auto answer = std::make_shared<std::promise<int>>();
  auto result = answer->get_future();
  std::thread([host, answer] {
    addrinfo* found = nullptr;
    answer->set_value(::getaddrinfo(host.c_str(), nullptr, nullptr, &found));
    if (found != nullptr) ::freeaddrinfo(found);
  }).detach();
  for (auto waited = std::chrono::milliseconds(0); waited < kPatience; waited += std::chrono::milliseconds(kPollMs)) {
    if (stop.stop_requested()) return false;
    if (result.wait_for(std::chrono::milliseconds(kPollMs)) != std::future_status::ready) continue;
    const int error = result.get();
    return error == EAI_NONAME || error == EAI_NODATA;
  }
  return false;
}

}  // namespace

/// The state of libcurl's callbacks during a request.
struct HttpPool::Transfer {
  ResponseReader reader;
  StallWatch stall;
  StallWatch slow;
  std::uint64_t body_bytes = 0;
  std::uint64_t sent_bytes = 0;
  std::string not_http = {};  ///< the start of an answer without headers

  void on_bytes(std::uint64_t bytes) {
    stall.on_bytes(bytes);
    slow.on_bytes(bytes);
  }

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    self.on_bytes(size * count);
    return self.reader.header({data, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    self.on_bytes(size * count);
    self.body_bytes += size * count;
    if (!self.reader.has_head()) {
      self.not_http.assign(data, std::min<std::size_t>(size * count, 16));
      return CURL_WRITEFUNC_ERROR;
    }
    return self.reader.body({data, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
  }
};

class HttpPool::Connection {
 public:
  Connection() : multi_(curl_multi_init()), easy_(curl_easy_init()) {
    if (multi_ == nullptr || easy_ == nullptr) throw Error(ErrorCode::io, "no memory for a connection");
  }
  ~Connection() {
    curl_slist_free_all(headers_);
    curl_easy_cleanup(easy_);
    curl_multi_cleanup(multi_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The latest request went there.
  const Url& url() const { return url_; }

  /// `authorities` (null: none needed) outlive the connection.
  void prepare(const HttpRequest& request, const HttpOptions& options, void* authorities, Transfer& transfer) {
    curl_easy_reset(easy_);  // connections stay
    if (!url_.same_origin(request.url)) peer_ = {};
    url_ = request.url;
    set_connection(request, options);
    if (authorities != nullptr) {
      set(CURLOPT_CAINFO, static_cast<char*>(nullptr));
      set(CURLOPT_CAPATH, static_cast<char*>(nullptr));
      authorities_ = authorities;
      peer_.host = request.url.host;
      set(CURLOPT_SSL_CTX_FUNCTION, &set_up);
      set(CURLOPT_SSL_CTX_DATA, static_cast<void*>(this));
    }
    set_request(request);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    detail_.fill('\0');
    set(CURLOPT_ERRORBUFFER, detail_.data());
  }

  /// Gets the time of each wait; a text says why the connection is to be given up.
  using Judge = std::function<std::string(system::Seconds waited)>;
  /// The result of libcurl. Empty on a stop.
  std::optional<CURLcode> perform(const Judge& fault_of, const std::stop_token& stop) {
    if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) return CURLE_FAILED_INIT;
    const Removal removal{*this};
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
    for (int running = 1; !stop.stop_requested();) {
      if (curl_multi_perform(multi_, &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) return result();
      const system::Seconds before = system::system_clock().monotonic();
      curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
      const std::string fault = fault_of(system::system_clock().monotonic() - before);
      if (fault.empty()) continue;
      fmt::format_to_n(detail_.data(), detail_.size() - 1, "{}", fault);
      return CURLE_OPERATION_TIMEDOUT;
    }
    return std::nullopt;
  }

  const char* detail() const { return detail_.data(); }
  /// Of the body of the request in progress.
  std::uint64_t bytes_sent() const {
    curl_off_t sent = 0;
    curl_easy_getinfo(easy_, CURLINFO_SIZE_UPLOAD_T, &sent);
    return static_cast<std::uint64_t>(sent);
  }
  TransferFailure failure() const {
    TransferFailure failure;
    curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &failure.os_error);
    if (socket_error_ != 0) failure.os_error = socket_error_;
    curl_easy_getinfo(easy_, CURLINFO_SSL_VERIFYRESULT, &failure.certificate);
    curl_easy_getinfo(easy_, CURLINFO_HTTP_CONNECTCODE, &failure.proxy_status);
    failure.tls = peer_;
    return failure;
  }

 private:
  struct Removal {
    Connection& connection;
    ~Removal() { curl_multi_remove_handle(connection.multi_, connection.easy_); }
  };

  template <class T>
  void set(CURLoption option, T value) {
    if (curl_easy_setopt(easy_, option, value) == CURLE_OK) return;
    throw Error(ErrorCode::unsupported, fmt::format("this libcurl ({}) lacks option {}; 7.88 or later is needed",
                                                    curl_version(), static_cast<int>(option)));
  }

  static CURLcode set_up(CURL* /*easy*/, void* context, void* user) {
    auto& self = *static_cast<Connection*>(user);
    set_up_tls(context, self.authorities_, self.peer_);
    return CURLE_OK;
  }

  /// Programs that we start must not inherit connections.
  static curl_socket_t open_socket(void* user, curlsocktype /*purpose*/, curl_sockaddr* address) {
    auto& self = *static_cast<Connection*>(user);
    const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    self.socket_error_ = fd < 0 ? errno : 0;
    if (fd >= 0 && self.receive_buffer_ > 0)
      ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &self.receive_buffer_, sizeof self.receive_buffer_);
    return fd;
  }

  void set_connection(const HttpRequest& request, const HttpOptions& options) {
    socket_error_ = 0;
    receive_buffer_ = static_cast<int>(options.receive_buffer);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name server
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP09_ALLOWED, 1L);  // so that the start of an answer that is not HTTP is seen
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
    set(CURLOPT_DNS_SHUFFLE_ADDRESSES, 1L);
    const auto ahead = static_cast<long>(std::min<std::uint64_t>(options.receive_buffer, kReadBufferBytes));
    set(CURLOPT_BUFFERSIZE, ahead > 0 ? std::max(ahead, kLeastReadBufferBytes) : kReadBufferBytes);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
    set(CURLOPT_TIMEOUT_MS, milliseconds(request.time_limit));
    if (request.must_be_sent_once) set(CURLOPT_FRESH_CONNECT, 1L);
    if (!request.may_use_proxy) set(CURLOPT_PROXY, "");
    if (request.may_use_netrc && !options.netrc_file.empty()) {
      set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
      set(CURLOPT_NETRC_FILE, options.netrc_file.c_str());
    }
  }

  void set_request(const HttpRequest& request) {
    set(CURLOPT_URL, request.url.text().c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
    if (request.method == "POST" || request.method == "PUT") {
      const std::string_view body = request.payload.empty() ? request.body : as_text(request.payload);
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
      set(CURLOPT_POSTFIELDS, body.data());
      if (body.size() > kUploadBufferBytes) set(CURLOPT_UPLOAD_BUFFERSIZE, kUploadBufferBytes);
    }
    if (!request.url.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, request.url.user.c_str());
      set(CURLOPT_PASSWORD, request.url.password.c_str());
    }
    curl_slist_free_all(std::exchange(headers_, nullptr));
    add_header("User-Agent: shardkit");
    if (!request.headers.find("accept-encoding")) add_header("Accept-Encoding: identity");
    add_header("Expect:");  // no round trip before a small body
    if (!request.headers.find("content-type")) add_header("Content-Type:");
    for (const auto& [name, value] : request.headers.fields()) {
      add_header(value.empty() ? name + ";" : fmt::format("{}: {}", name, value));
    }
    set(CURLOPT_HTTPHEADER, headers_);
  }

  void add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_, line.c_str());
    if (longer == nullptr) throw Error(ErrorCode::io, "no memory for a request");
    headers_ = longer;
  }

  CURLcode result() {
    for (int left = 0;;) {
      const CURLMsg* message = curl_multi_info_read(multi_, &left);
      if (message == nullptr) return CURLE_GOT_NOTHING;
      if (message->msg == CURLMSG_DONE) return message->data.result;
    }
  }

  static long milliseconds(system::Seconds duration) {
    return static_cast<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
  }

  CURLM* multi_;
  CURL* easy_;
  Url url_;
  int receive_buffer_ = 0;
  int socket_error_ = 0;         ///< errno, if no socket could be made
  void* authorities_ = nullptr;  ///< X509_STORE
  TlsPeer peer_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> detail_{};
};

namespace {

/// As libcurl looks for it: HTTP_PROXY would be a header that a CGI program was sent.
std::string proxy_of(const std::string& scheme, const system::EnvironmentLookup& environment) {
  for (const auto& name : std::vector<std::string>{scheme + "_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
    const auto proxy = environment(name);
    if (proxy && !proxy->empty() && (name != "HTTPS_PROXY" || scheme == "https"))
      return fmt::format("{} ('{}')", name, without_secrets(*proxy));
  }
  return {};
}

}  // namespace

HttpOptions http_options(const system::EnvironmentLookup& environment) {
  HttpOptions options;
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const auto file = environment(name);
    if (!file || !options.ca_file.empty()) continue;
    options.ca_file = *file;
    options.ca_name = name;
  }
  const auto home = environment("HOME");
  options.netrc_file = environment("NETRC").value_or(home ? *home + "/.netrc" : "");
  options.ca_folder = environment("SSL_CERT_DIR").value_or("");
  for (const char* scheme : {"http", "https"}) options.proxies[scheme] = proxy_of(scheme, environment);
  return options;
}

HttpPool::HttpPool(HttpOptions options) : options_(std::move(options)) { initialize_curl(); }

HttpPool::~HttpPool() = default;

HttpResponse HttpPool::send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) {
  std::unique_ptr<Connection> connection = borrow(request.url);  // one whose request fails is closed
  Transfer transfer{ResponseReader(request, on_head, options_.header_limits), StallWatch(options_.stall),
                    StallWatch({0, options_.slow.window})};
  connection->prepare(request, options_, trust(request.url).get(), transfer);
  const system::Seconds start = system::system_clock().monotonic();
  const auto fault = [&](system::Seconds waited) {
    const std::uint64_t sent = connection->bytes_sent();
    transfer.stall.on_bytes(sent - std::exchange(transfer.sent_bytes, sent));
    return fault_of(request, transfer, waited);
  };
  const auto code = connection->perform(fault, stop);
  if (!code) {
    throw Error(ErrorCode::cancelled, "interrupted while waiting for an answer", request.url.display());
  }
  if (!transfer.reader.refused()) {
    if (code == CURLE_COULDNT_RESOLVE_HOST && is_unknown_host(request.url.host, stop)) {
      throw UnknownHost(ErrorCode::network, fmt::format("'{}': name not found", request.url.display()),
                        request.url.display());
    }
    TransferFailure failure = connection->failure();
    failure.not_http = transfer.not_http;
    failure.is_answered = transfer.reader.has_head() || !transfer.not_http.empty();
    if (*code != CURLE_OK) throw transfer_error(*code, connection->detail(), request.url, options_, failure);
    if (!transfer.reader.has_head()) throw transfer_error(CURLE_WEIRD_SERVER_REPLY, "", request.url, options_);
  }
  if (transfer.reader.response().status == 407) throw Error(*proxy_refusal(407, request.url, options_));
  note_rate(transfer, system::system_clock().monotonic() - start);
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(connection));
  return transfer.reader.response();
}

std::unique_ptr<HttpPool::Connection> HttpPool::borrow(const Url& url) {
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connection>();
  auto at = std::find_if(idle_.rbegin(), idle_.rend(), [&](const auto& idle) { return idle->url().same_origin(url); });
  if (at == idle_.rend()) at = idle_.rbegin();
  std::unique_ptr<Connection> connection = std::move(*at);
  idle_.erase(std::next(at).base());
  return connection;
}

/// The authorities for TLS; null if it is not used.
std::shared_ptr<void> HttpPool::trust(const Url& url) {
  if (url.scheme != "https") return nullptr;
  const std::scoped_lock lock(mutex_);
  if (!trust_) trust_ = read_authorities(options_);
  return trust_;
}

/// Why a connection is to be given up; empty if it is not.
std::string HttpPool::fault_of(const HttpRequest& request, Transfer& transfer, system::Seconds waited) {
  const StallLimit& stall = options_.stall;
  if (!request.may_take_long && transfer.stall.waited(waited)) {
    constexpr double kAlmostNothing = 1024;  // bytes
    if (transfer.stall.bytes() < kAlmostNothing)
      return fmt::format("almost no data arrived for {:.0f} s", stall.window.count());
    return fmt::format("the connection is too slow: less than {} for {:.0f} s", format_rate(stall.bytes_per_second),
                       stall.window.count());
  }
  if (!request.may_be_given_up) return {};
  const std::scoped_lock lock(mutex_);
  const double usual = usual_rate_;
  if (usual == 0 || !transfer.slow.waited(waited, options_.slow.share * usual)) return {};
  const std::uint64_t length = transfer.reader.response().content_length().value_or(0);
  const bool ends_soon =
      length >= transfer.body_bytes && static_cast<double>(length - transfer.body_bytes) <= transfer.slow.bytes();
  if (transfer.reader.has_head() && ends_soon) return {};
  usual_rate_ /= 2;
  return fmt::format("the connection is too slow: {}, usually {}",
                     format_rate(transfer.slow.bytes() / options_.slow.window.count()), format_rate(usual));
}

/// Of an answer that is complete.
void HttpPool::note_rate(const Transfer& transfer, system::Seconds elapsed) {
  constexpr double kNew = 0.25;  // weight of the newest answer
  if (options_.slow.share == 0 || transfer.body_bytes < options_.slow.from_bytes) return;
  const double rate = static_cast<double>(transfer.body_bytes) / std::max(elapsed.count(), 1e-3);
  const std::scoped_lock lock(mutex_);
  usual_rate_ = usual_rate_ == 0 ? rate : usual_rate_ + kNew * (rate - usual_rate_);
}

}  // namespace shardkit::net
