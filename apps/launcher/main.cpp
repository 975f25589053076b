#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include <sys/auxv.h>
#include <unistd.h>

// The program in the bin/ of a bundle (scripts/bundle) under each program's name. It starts the program of that name in
// libexec/ with the loader and the C library of the bundle, so that those of the host, which may be older or missing,
// are not used. It is linked statically, needs no shell, and follows links to itself.

namespace {

/// A text of at most PATH_MAX - 1 characters; the process ends if one is longer.
struct Path {
  char text[PATH_MAX] = "";

  void add(const char* part) {
    if (std::strlen(text) + std::strlen(part) >= sizeof(text)) {
      std::fprintf(stderr, "the path of this bundle is too long\n");
      std::exit(127);
    }
    std::strcat(text, part);
  }
};

/// This file, links followed if /proc is available.
Path own_path() {
  Path path;
  const ssize_t length = readlink("/proc/self/exe", path.text, sizeof(path.text) - 1);
  if (length > 0) {
    path.text[length] = '\0';
  } else {
    path.text[0] = '\0';
    path.add(reinterpret_cast<const char*>(getauxval(AT_EXECFN)));
  }
  return path;
}

/// Debian's libcurl looks for authorities at Debian's paths; other systems have other paths.
void find_authorities() {
  for (const char* name : {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (std::getenv(name)) return;
  }
  if (access("/etc/ssl/certs/ca-certificates.crt", R_OK) == 0) return;
  for (const char* file : {"/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}) {
    if (access(file, R_OK) != 0) continue;
    setenv("SSL_CERT_FILE", file, 0);
    return;
  }
}

}  // namespace

int main(int count, char** arguments) {
  Path root = own_path();
  Path name;
  char* const slash = std::strrchr(root.text, '/');
  name.add(slash ? slash + 1 : root.text);
  std::strcpy(slash ? slash : root.text, slash ? "" : ".");
  root.add("/..");

  Path loader = root;
  loader.add("/lib/loader/");  // named as the program, because that is the name that ps shows
  loader.add(name.text);
  Path program = root;
  program.add("/libexec/");
  program.add(name.text);
  Path libraries = root;
  libraries.add("/lib");
  if (const char* const more = std::getenv("LD_LIBRARY_PATH")) {  // a GPU's driver may be there
    libraries.add(":");
    libraries.add(more);
  }
  find_authorities();

  constexpr int kAdded = 6;
  char** const all = static_cast<char**>(std::calloc(static_cast<std::size_t>(count) + kAdded + 1, sizeof(char*)));
  if (!all) return 127;
  char library_option[] = "--library-path";
  char name_option[] = "--argv0";
  char* const front[kAdded] = {loader.text, library_option, libraries.text, name_option, arguments[0], program.text};
  std::memcpy(all, front, sizeof(front));
  for (int i = 1; i < count; ++i) all[kAdded + i - 1] = arguments[i];
  execv(loader.text, all);
  std::fprintf(stderr, "%s: cannot start %s: %s; keep bin, lib and libexec of the bundle in one folder\n", name.text,
               loader.text, std::strerror(errno));
  return 127;
}
