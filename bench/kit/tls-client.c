/**
 * Visitors over TLS, each with a connection of its own: a handshake, one request, its answer to the end. As many
 * threads as there are visitors at a time do it with blocking calls; only what the server spends is measured. A visitor
 * either knows nothing, or has the session of an earlier visit and resumes it.
 *
 * No header is included, because a machine that runs benchmarks need not have any: what is used of Linux, of its C
 * library and of OpenSSL is declared here. OpenSSL is loaded when the load begins.
 */
typedef unsigned long size;

struct timespec { long seconds, nanoseconds; };
struct address { unsigned short family, port; unsigned host; char padding[8]; };

int clock_gettime(int clock, struct timespec *time);
int socket(int family, int kind, int protocol);
int setsockopt(int socket, int level, int option, const void *value, unsigned length);
int connect(int socket, const struct address *address, unsigned length);
int close(int file);
void *dlopen(const char *name, int flags);
void *dlsym(void *library, const char *name);
int pthread_create(unsigned long *thread, const void *options, void *(*work)(void *), void *argument);
int pthread_join(unsigned long thread, void **result);

enum { monotonic = 1, internet = 2, stream = 1, tcp = 6, no_delay = 1, load_now = 2, visitors_max = 256 };

static void *(*method)(void), *(*context_new)(void *), *(*ssl_new)(void *), *(*session_of)(void *);
static int (*set_file)(void *, int), (*handshake)(void *), (*is_reused)(void *), (*set_session)(void *, void *);
static int (*ssl_read)(void *, void *, int), (*ssl_write)(void *, const void *, int), (*ssl_shutdown)(void *);
static void (*ssl_free)(void *), (*session_free)(void *);

static struct address server;
static const char *request;
static int request_length, is_resuming;
static double end_ns;
static void *context;
/** In microseconds, in the order of arrival within each visitor's part. */
static float *latencies;
static long latencies_max;

/** What JavaScript reads, for each visitor. */
struct tally { int served, failed, resumed; };
static struct tally *tallies;

static double now_ns(void) {
  struct timespec time;
  clock_gettime(monotonic, &time);
  return time.seconds * 1e9 + time.nanoseconds;
}

/** One visit. The session of it replaces the one before, as tickets are for one use. */
static int visit(void **session, struct tally *tally) {
  static const char expected[] = "HTTP/1.1 302 ";
  char answer[4096];
  int one = 1, length = 0, file = socket(internet, stream, 0), is_served = 0;
  void *ssl = ssl_new(context);
  setsockopt(file, tcp, no_delay, &one, sizeof one);
  if (*session) set_session(ssl, *session);
  set_file(ssl, file);
  if (connect(file, &server, sizeof server) == 0 && handshake(ssl) == 1 &&
      ssl_write(ssl, request, request_length) == request_length) {
    for (int more; length < (int)sizeof answer && (more = ssl_read(ssl, answer + length, sizeof answer - length)) > 0;)
      length += more;
    is_served = length > (int)sizeof expected;
    for (int at = 0; is_served && expected[at]; at += 1) is_served = answer[at] == expected[at];
    if (is_reused(ssl)) tally->resumed += 1;
    if (is_resuming) {
      if (*session) session_free(*session);
      *session = session_of(ssl);
    }
    ssl_shutdown(ssl);
  }
  ssl_free(ssl);
  close(file);
  return is_served;
}

static void *visitor(void *argument) {
  long place = (long)argument;
  struct tally *tally = &tallies[place];
  void *session = 0;
  for (double begun_ns; (begun_ns = now_ns()) < end_ns;) {
    if (visit(&session, tally)) {
      if (tally->served < latencies_max)
        latencies[place * latencies_max + tally->served] = (now_ns() - begun_ns) / 1e3;
      tally->served += 1;
    } else tally->failed += 1;
  }
  if (session) session_free(session);
  return 0;
}

/** Returns 0, or 1 when OpenSSL is not there. */
int tls_load(unsigned host, int port, const char *bytes, int length, int visitors, int resumes, double duration_ns,
    struct tally *shared, float *shared_latencies, int latencies_each) {
  static unsigned long threads[visitors_max];
  void *library = dlopen("libssl.so.3", load_now);
  if (!library) return 1;
  method = dlsym(library, "TLS_client_method");
  context_new = dlsym(library, "SSL_CTX_new");
  ssl_new = dlsym(library, "SSL_new");
  session_of = dlsym(library, "SSL_get1_session");
  set_file = dlsym(library, "SSL_set_fd");
  handshake = dlsym(library, "SSL_connect");
  is_reused = dlsym(library, "SSL_session_reused");
  set_session = dlsym(library, "SSL_set_session");
  ssl_read = dlsym(library, "SSL_read");
  ssl_write = dlsym(library, "SSL_write");
  ssl_shutdown = dlsym(library, "SSL_shutdown");
  ssl_free = dlsym(library, "SSL_free");
  session_free = dlsym(library, "SSL_SESSION_free");
  server.family = internet;
  server.port = (unsigned short)(port >> 8 | port << 8);
  server.host = host;
  request = bytes;
  request_length = length;
  is_resuming = resumes;
  tallies = shared;
  latencies = shared_latencies;
  latencies_max = latencies_each;
  context = context_new(method());
  end_ns = now_ns() + duration_ns;
  for (long place = 0; place < visitors; place += 1) pthread_create(&threads[place], 0, visitor, (void *)place);
  for (long place = 0; place < visitors; place += 1) pthread_join(threads[place], 0);
  return 0;
}
