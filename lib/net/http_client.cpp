#include "net/http_client.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <curl/curl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "core/error.hpp"
#include "core/text.hpp"

namespace shardkit::net {

bool StallWatch::waited(system::Seconds duration) {
  waited_ += duration;
  if (waited_ < limit_.window) return false;
  if (bytes_ < limit_.bytes_per_second * limit_.window.count()) return true;
  bytes_ = 0;
  waited_ = system::Seconds(0);
  return false;
}

namespace {

/// Of "HTTP/1.1 200 OK"; 0 if it is not a status line.
int status_of(std::string_view line) {
  int status = 0;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || !parse_number(line.substr(blank + 1, 3), status)) return 0;
  return status >= 100 ? status : 0;
}

}  // namespace

bool AnswerReader::header(std::string_view line) noexcept {
  try {
    return take_header(line);
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool AnswerReader::body(std::string_view bytes) noexcept {
  try {
    if (writer_) writer_(as_bytes(bytes));
    return true;
  } catch (...) {
    failure_ = std::current_exception();
    return false;
  }
}

bool AnswerReader::refused() const {
  if (failure_) std::rethrow_exception(failure_);
  return refused_;
}

bool AnswerReader::take_header(std::string_view line) {
  header_bytes_ += line.size();
  if (header_bytes_ > limits_.bytes || response_.headers.size() >= limits_.fields) {
    throw Error(ErrorCode::corrupt, fmt::format("'{}': the server sends too many headers", request_.url.display()),
                request_.url.display());
  }
  if (head_done_) return true;  // behind the body of a chunked answer
  if (line.starts_with("HTTP/")) {
    response_ = {status_of(line), {}};  // a 1xx may have come before
    return true;
  }
  if (system::trimmed(line).empty()) return response_.status < 200 || take_head();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  response_.headers.add(std::string(system::trimmed(line.substr(0, colon))),
                        std::string(system::trimmed(line.substr(colon + 1))));
  return true;
}

/// False when the caller refuses a body that is still to come.
bool AnswerReader::take_head() {
  head_done_ = true;
  writer_ = on_head_(response_);
  const bool no_body = request_.method == "HEAD" || response_.status == 204 || response_.status == 304 ||
                       response_.content_length() == 0;
  refused_ = !writer_ && !no_body;
  return !refused_;
}

namespace {

constexpr int kPollMs = 200;
constexpr long kReadBufferBytes = 256L << 10U;

/// libcurl's own start-up, once per process and never undone: other threads may be using it until the end.
void initialize_curl() {
  static const CURLcode once = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (once != CURLE_OK) throw Error(ErrorCode::unsupported, "libcurl cannot be initialized");
}

/// Programs that we start must not inherit connections.
curl_socket_t open_socket(void* /*user*/, curlsocktype /*purpose*/, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

ErrorCode error_code_of_curl(CURLcode code) {
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return ErrorCode::denied;
    case CURLE_URL_MALFORMAT:
      return ErrorCode::usage;
    case CURLE_OUT_OF_MEMORY:         // the error for a line beyond libcurl's own limits
    case CURLE_UNSUPPORTED_PROTOCOL:  // an answer that is not HTTP
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return ErrorCode::corrupt;
    default:
      return ErrorCode::network;
  }
}

/// Common failures in well-known words; empty for the rest. libcurl's own text does not say whether a connection was
/// refused or why else it failed.
std::string everyday_words(CURLcode code, long os_error) {
  if (code == CURLE_COULDNT_RESOLVE_HOST) return "name not found";
  if (code == CURLE_OPERATION_TIMEDOUT) return "timed out";
  if (code != CURLE_COULDNT_CONNECT || os_error == 0) return {};
  if (os_error == ECONNREFUSED) return "connection refused";
  return std::error_code(static_cast<int>(os_error), std::generic_category()).message();
}

Error transfer_error(CURLcode code, const char* detail, const Url& url, long os_error = 0) {
  const ErrorCode kind = error_code_of_curl(code);
  std::string what = *detail != '\0' ? detail : curl_easy_strerror(code);
  if (const std::string words = everyday_words(code, os_error); !words.empty()) {
    what = fmt::format("{} ({})", words, what);
  }
  if (kind == ErrorCode::denied) {
    what += "; if the server's certificate authority is your own, give its certificate in SSL_CERT_FILE";
  } else if (kind == ErrorCode::corrupt) {
    what = fmt::format("the answer is not HTTP, or has an endless header line ({})", what);
  }
  return Error(kind, fmt::format("'{}': {}", url.display(), what), url.display());
}

/// The state of libcurl's callbacks during a request.
struct Transfer {
  AnswerReader reader;
  StallWatch stall;

  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    self.stall.came(size * count);
    return self.reader.header({data, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
  }

  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* user) {
    auto& self = *static_cast<Transfer*>(user);
    self.stall.came(size * count);
    return self.reader.body({data, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
  }
};

}  // namespace

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

  void prepare(const HttpRequest& request, const HttpOptions& options, Transfer& transfer) {
    curl_easy_reset(easy_);  // connections stay
    set_connection(request, options);
    set_request(request);
    set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
    set(CURLOPT_HEADERDATA, static_cast<void*>(&transfer));
    set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
    set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
    detail_.fill('\0');
    set(CURLOPT_ERRORBUFFER, detail_.data());
  }

  /// The result of libcurl. Empty on a stop.
  std::optional<CURLcode> perform(StallWatch& stall, const std::stop_token& stop) {
    if (curl_multi_add_handle(multi_, easy_) != CURLM_OK) return CURLE_FAILED_INIT;
    const Removal removal{*this};
    const std::stop_callback wake(stop, [this] { curl_multi_wakeup(multi_); });
    for (int running = 1; !stop.stop_requested();) {
      if (curl_multi_perform(multi_, &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running == 0) return result();
      const system::Seconds before = system::system_clock().monotonic();
      curl_multi_poll(multi_, nullptr, 0, kPollMs, nullptr);
      if (stall.waited(system::system_clock().monotonic() - before)) {
        fmt::format_to_n(detail_.data(), detail_.size() - 1,
                         "the connection timed out: almost no data arrived for a while");
        return CURLE_OPERATION_TIMEDOUT;
      }
    }
    return std::nullopt;
  }

  const char* detail() const { return detail_.data(); }
  /// errno of the connection that failed last; 0 without.
  long os_error() const {
    long error = 0;
    curl_easy_getinfo(easy_, CURLINFO_OS_ERRNO, &error);
    return error;
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

  void set_connection(const HttpRequest& request, const HttpOptions& options) {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name server
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    set(CURLOPT_TCP_KEEPALIVE, 1L);
    set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
    set(CURLOPT_BUFFERSIZE, kReadBufferBytes);
    set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(CURLOPT_CONNECTTIMEOUT_MS, milliseconds(options.connect_timeout));
    set(CURLOPT_TIMEOUT_MS, milliseconds(request.time_limit));
    if (!options.ca_file.empty()) set(CURLOPT_CAINFO, options.ca_file.c_str());
    if (!options.ca_folder.empty()) set(CURLOPT_CAPATH, options.ca_folder.c_str());
    if (!request.may_use_proxy) set(CURLOPT_PROXY, "");
  }

  void set_request(const HttpRequest& request) {
    set(CURLOPT_URL, request.url.text().c_str());
    set(CURLOPT_PATH_AS_IS, 1L);
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    if (request.method == "HEAD") set(CURLOPT_NOBODY, 1L);
    if (request.method == "POST" || request.method == "PUT") {
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      set(CURLOPT_POSTFIELDS, request.body.c_str());
    }
    if (!request.url.user.empty()) {
      set(CURLOPT_HTTPAUTH, static_cast<long>(CURLAUTH_BASIC));
      set(CURLOPT_USERNAME, request.url.user.c_str());
      set(CURLOPT_PASSWORD, request.url.password.c_str());
    }
    curl_slist_free_all(std::exchange(headers_, nullptr));
    add_header("User-Agent: shardkit");
    add_header("Accept-Encoding: identity");
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
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> detail_{};
};

HttpOptions http_options(const system::EnvironmentLookup& environment) {
  HttpOptions options;
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (options.ca_file.empty()) options.ca_file = environment(name).value_or("");
  }
  options.ca_folder = environment("SSL_CERT_DIR").value_or("");
  return options;
}

HttpPool::HttpPool(HttpOptions options) : options_(std::move(options)) { initialize_curl(); }

HttpPool::~HttpPool() = default;

HttpResponse HttpPool::send(const HttpRequest& request, const HeadHandler& on_head, const std::stop_token& stop) {
  std::unique_ptr<Connection> connection = borrow();  // one whose request fails is closed
  Transfer transfer{AnswerReader(request, on_head, options_.header_limits), StallWatch(options_.stall)};
  connection->prepare(request, options_, transfer);
  const auto code = connection->perform(transfer.stall, stop);
  if (!code) {
    throw Error(ErrorCode::cancelled, "interrupted while waiting for an answer", request.url.display());
  }
  if (!transfer.reader.refused()) {
    if (*code != CURLE_OK) throw transfer_error(*code, connection->detail(), request.url, connection->os_error());
    if (!transfer.reader.has_head()) throw transfer_error(CURLE_WEIRD_SERVER_REPLY, "", request.url);
  }
  const std::scoped_lock lock(mutex_);
  idle_.push_back(std::move(connection));
  return transfer.reader.response();
}

std::unique_ptr<HttpPool::Connection> HttpPool::borrow() {
  const std::scoped_lock lock(mutex_);
  if (idle_.empty()) return std::make_unique<Connection>();
  std::unique_ptr<Connection> connection = std::move(idle_.back());
  idle_.pop_back();
  return connection;
}

}  // namespace shardkit::net
