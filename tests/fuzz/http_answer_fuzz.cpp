// An HTTP answer, line by line as libcurl hands it on: bounded headers, one head for each answer, and a body only
// behind it. What follows an empty line is the body. Shared files and profiles of AWS are read too.

#include <algorithm>
#include <map>
#include <string>

#include "fuzz/fuzz.hpp"
#include "net/aws_profile.hpp"
#include "net/http_client.hpp"
#include "net/remote_store.hpp"
#include "net/retry.hpp"

using namespace shardkit;
using namespace shardkit::net;
using namespace shardkit::system;

namespace {

void read_answer(std::string_view text) {
  constexpr HeaderLimits limits{.fields = 16, .bytes = 4096};
  const HttpRequest request;
  int heads = 0;
  bool wanted = false;
  std::size_t body = 0;
  const HeadHandler on_head = [&](const HttpResponse& head) -> BodyWriter {
    ++heads;
    fuzz::promise(head.status >= 200 && head.status <= 999 && head.headers.size() <= limits.fields);
    retry_after(head.headers, WallTime());
    object_version(head.headers);
    if (const auto range = parse_content_range(head.headers.get("content-range")))
      fuzz::promise(range->first <= range->last);
    wanted = !head.headers.find("refuse");
    if (!wanted) return {};
    return [&](Bytes bytes) { body += bytes.size(); };
  };
  ResponseReader reader(request, on_head, limits);
  bool goes_on = true;
  while (goes_on && !text.empty() && !reader.has_head()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    goes_on = reader.header(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (goes_on && reader.has_head()) fuzz::promise(reader.body(text) && body == (wanted ? text.size() : 0));
  fuzz::may_fail_with({ErrorCode::corrupt}, [&] { fuzz::promise(!reader.refused() || heads == 1); });
  fuzz::promise(heads == (reader.has_head() ? 1 : 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = as_text(fuzz::bytes_of(data, size));
  read_answer(text);
  std::map<std::string, AwsProfile> profiles;
  for (const bool is_config : {true, false})
    fuzz::may_fail_with({ErrorCode::usage}, [&] { read_profiles(text, is_config, "file", profiles); });
  return 0;
}
