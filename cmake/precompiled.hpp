// Headers that most sources include and that take long to read. Sources still include what they use: a build without
// precompiled headers (-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON) has to work.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
