/**
 * HTTP/1.1 load at a constant rate, cheap enough to keep time at a hundred thousand
 * requests per second on one core. JavaScript compiles it when a load begins (compiled-client.ts), calls `load_run`
 * for one stretch of time after the other, and reads and clears the tally between them.
 *
 * A visit is due at its time whatever the server does, and its latency counts from then. It is sent over a connection
 * that is free; if none is and there may be more, a new one is opened for it; if not, it waits. Every visit ends in
 * exactly one way: answered, broken, or given up.
 *
 * No header is included, because a machine that runs benchmarks need not have any: what is used of Linux and its C
 * library is declared here.
 */
typedef long long nanoseconds;
typedef unsigned long size;

struct timespec { long seconds, nanoseconds; };
struct polled { int file; short asked, got; };
struct address { unsigned short family, port; unsigned host; char padding[8]; };
#ifdef __x86_64__
struct event { unsigned what; unsigned long long who; } __attribute__((packed));
#else
struct event { unsigned what; unsigned long long who; };
#endif

int clock_gettime(int clock, struct timespec *time);
int socket(int family, int kind, int protocol);
int setsockopt(int socket, int level, int option, const void *value, unsigned length);
int connect(int socket, const struct address *address, unsigned length);
long send(int socket, const void *bytes, size length, int flags);
long recv(int socket, void *bytes, size length, int flags);
int close(int file);
int epoll_create1(int flags);
int epoll_ctl(int epoll, int operation, int file, struct event *event);
int epoll_wait(int epoll, struct event *events, int max, int timeout_ms);
int ppoll(struct polled *files, size count, const struct timespec *timeout, const void *signals);
int *__errno_location(void);
void *calloc(size count, size length);
void *memchr(const void *bytes, int byte, size length);
int strncasecmp(const char *one, const char *other, size length);
int strncmp(const char *one, const char *other, size length);
long strtol(const char *text, char **end, int base);

enum { monotonic = 1, internet = 2, stream = 1, nonblocking = 04000, tcp = 6, no_delay = 1, add = 1 };
enum { dont_wait = 0x40, no_signal = 0x4000, try_again = 11, in_progress = 115 };
enum { readable = 0x1, writable = 0x4, ended = 0x2018 };
/** Edge-triggered events, so that a connection is registered only once. */
static const unsigned changes = 1u << 31;

enum { head_max = 4096, events_max = 256, status_count = 1000, refused_status = 503 };
static const nanoseconds timeout_check_ns = 50000000, rest_max_ns = 1000000;

/** What JavaScript reads, in this order. BUCKETS and SUB_BUCKETS are those of histogram.ts. */
struct latencies { unsigned counts[BUCKETS], max_us; };
struct tally {
  struct latencies served, refused, late;
  /** At 0 those that were no answers. */
  unsigned statuses[status_count];
  unsigned sent, broken, retried, gave_up, with_retry_after, in_flight_max;
};

struct visit { nanoseconds due_ns; unsigned request; int is_retry; };

/** `gone`: was closed while it was free, and still lies in the pile of the free. */
enum state { unused, connecting, unoccupied, busy, gone };
struct connection {
  enum state state;
  int file;
  /** Distinguishes the current user of this place from earlier ones, which a late event may be about. */
  unsigned generation;
  unsigned answers, head_length;
  int status, is_last, has_retry_after;
  struct visit visit;
  const char *unsent;
  size unsent_length;
  /** Of the body that has not come yet; -1 until the head is complete. */
  long body_left;
  char *head;
};

static struct address server;
static const char *requests;
/** Where in `requests` each begins, and where the last one ends; between two there is one byte that is not sent. */
static const unsigned *request_starts;
static unsigned request_count, next_request;
static struct connection *connections;
static unsigned connections_max, open_count, in_flight;
/** Piles of places in `connections`. */
static unsigned *free_places, *unused_places, free_count, unused_count;
static struct visit *retries;
static unsigned retry_count;
static int epoll, is_kept_alive, is_spinning, is_chunked;
static struct tally *tally;
static double step_ns;
static long long visits_taken, visit_count;
/** Of those who wait for a connection, and of those who wait for an answer; both count from when a visit was due. */
static nanoseconds unsent_max_ns, answer_max_ns;
static nanoseconds start_ns, timeouts_checked_ns, room_since_ns, polled_ns;

static nanoseconds now_ns(void) {
  struct timespec time;
  clock_gettime(monotonic, &time);
  return time.seconds * 1000000000LL + time.nanoseconds;
}

static void record(struct latencies *latencies, nanoseconds ns) {
  int shift = 0;
  while (ns >> shift >= 2 * SUB_BUCKETS) shift += 1;
  long bucket = shift * SUB_BUCKETS + (ns >> shift);
  latencies->counts[bucket < BUCKETS ? bucket : BUCKETS - 1] += 1;
  if ((ns + 999) / 1000 > latencies->max_us) latencies->max_us = (ns + 999) / 1000;
}

/** To be called before a connection becomes free or ends. While there was no room, it was not the client who was late. */
static void make_room(void) {
  if (free_count == 0 && open_count == connections_max) room_since_ns = now_ns();
}

static void set_free(unsigned place) {
  make_room();
  connections[place].state = unoccupied;
  free_places[free_count++] = place;
}

static void hang_up(unsigned place) {
  struct connection *it = &connections[place];
  make_room();
  close(it->file);
  open_count -= 1;
  it->generation += 1;
  if (it->state == unoccupied) it->state = gone;
  else {
    it->state = unused;
    unused_places[unused_count++] = place;
  }
}

/** The connection has ended before the visit it carries was answered. */
static void lose(unsigned place) {
  struct connection *it = &connections[place];
  struct visit visit = it->visit;
  const char *request = requests + request_starts[visit.request];
  int is_repeatable = strncmp(request, "GET ", 4) == 0 || strncmp(request, "HEAD ", 5) == 0;
  // A server may close an idle connection, and a client that uses it just then retries: the request cannot have been
  // answered. On a new connection, or with half an answer, it is a failure.
  int is_retried = it->answers > 0 && it->head_length == 0 && is_repeatable && !visit.is_retry;
  hang_up(place);
  in_flight -= 1;
  if (is_retried) {
    visit.is_retry = 1;
    retries[retry_count++] = visit;
    tally->retried += 1;
  } else tally->broken += 1;
}

/** What fails here is noticed when the answer is read, which may be there although the connection has ended. */
static void send_rest(struct connection *it) {
  if (it->unsent_length == 0) return;
  long sent = send(it->file, it->unsent, it->unsent_length, dont_wait | no_signal);
  if (sent <= 0) return;
  it->unsent += sent;
  it->unsent_length -= sent;
}

static void carry_visit(struct connection *it) {
  unsigned request = it->visit.request;
  it->state = busy;
  it->unsent = requests + request_starts[request];
  it->unsent_length = request_starts[request + 1] - request_starts[request] - 1;
  it->head_length = 0;
  it->body_left = -1;
  send_rest(it);
}

/** The place of the new connection, or -1. Unless the call waits for it, an event signals when it can be used. */
static int open_connection(int is_waited_for) {
  int one = 1;
  int file = socket(internet, is_waited_for ? stream : stream | nonblocking, 0);
  if (file < 0) return -1;
  setsockopt(file, tcp, no_delay, &one, sizeof one);
  unsigned place = unused_places[--unused_count];
  struct connection *it = &connections[place];
  struct event event = { readable | writable | ended | changes, (unsigned long long)it->generation << 32 | place };
  open_count += 1;
  it->file = file;
  it->state = connecting;
  it->answers = 0;
  int is_failed = connect(file, &server, sizeof server) != 0 && *__errno_location() != in_progress;
  if (!is_failed && epoll_ctl(epoll, add, file, &event) == 0) return place;
  hang_up(place);
  return -1;
}

/** False while no visitor waits. A visitor who has waited for too long leaves without having been served. */
static int next_visit(nanoseconds now, struct visit *visit) {
  if (retry_count > 0) {
    *visit = retries[--retry_count];
    return 1;
  }
  for (; visits_taken < visit_count; tally->gave_up += 1) {
    nanoseconds due_ns = start_ns + (nanoseconds)(visits_taken * step_ns);
    if (due_ns > now) return 0;
    visits_taken += 1;
    if (now - due_ns > unsent_max_ns) continue;
    visit->due_ns = due_ns;
    visit->request = next_request;
    visit->is_retry = 0;
    next_request = next_request + 1 == request_count ? 0 : next_request + 1;
    tally->sent += 1;
    record(&tally->late, now - (due_ns > room_since_ns ? due_ns : room_since_ns));
    return 1;
  }
  return 0;
}

static void send_due(nanoseconds now) {
  struct visit visit;
  for (;;) {
    while (free_count > 0 && connections[free_places[free_count - 1]].state == gone) {
      unsigned place = free_places[--free_count];
      connections[place].state = unused;
      unused_places[unused_count++] = place;
    }
    if (free_count == 0 && open_count == connections_max) return;
    if (!next_visit(now, &visit)) return;
    int is_carried = free_count > 0;
    int place = is_carried ? free_places[--free_count] : open_connection(0);
    if (place < 0) {
      tally->broken += 1;
      continue;
    }
    in_flight += 1;
    if (in_flight > tally->in_flight_max) tally->in_flight_max = in_flight;
    connections[place].visit = visit;
    if (is_carried) carry_visit(&connections[place]);
  }
}

/** Reads status, length and whether the connection stays open; false when the head is not complete. */
static int read_head(struct connection *it) {
  const char *line = it->head, *end = it->head + it->head_length, *line_end;
  long length = 0;
  it->is_last = it->has_retry_after = 0;
  for (; (line_end = memchr(line, '\n', end - line)) != 0; line = line_end + 1) {
    if (line_end - line <= 1) {
      long status = strncmp(it->head, "HTTP/1.1 ", 9) == 0 ? strtol(it->head + 9, 0, 10) : 0;
      it->status = status > 0 && status < status_count ? status : 0;
      long left = length - (end - line_end - 1);
      it->body_left = left > 0 ? left : 0;
      return 1;
    }
    if (strncasecmp(line, "content-length:", 15) == 0) length = strtol(line + 15, 0, 10);
    else if (strncasecmp(line, "connection: close", 17) == 0) it->is_last = 1;
    else if (strncasecmp(line, "retry-after:", 12) == 0) it->has_retry_after = 1;
    else if (strncasecmp(line, "transfer-encoding:", 18) == 0) is_chunked = 1;
  }
  return 0;
}

static void take_for_noise(struct connection *it) {
  it->status = it->has_retry_after = 0;
  it->body_left = 0;
  it->is_last = 1;
}

static void note_answer(unsigned place, nanoseconds now) {
  struct connection *it = &connections[place];
  tally->statuses[it->status] += 1;
  record(it->status == refused_status ? &tally->refused : &tally->served, now - it->visit.due_ns);
  if (it->status == refused_status) tally->with_retry_after += it->has_retry_after;
  // It was not there when we looked before, so it cannot have waited for us for longer.
  record(&tally->late, now - polled_ns);
  in_flight -= 1;
  it->answers += 1;
  if (it->is_last || !is_kept_alive) hang_up(place);
  else set_free(place);
}

static void receive(unsigned place, int has_ended) {
  static char ignored[65536];
  struct connection *it = &connections[place];
  for (;;) {
    int is_head = it->state == busy && it->body_left < 0;
    size room = is_head ? head_max - it->head_length : sizeof ignored;
    long length = recv(it->file, is_head ? it->head + it->head_length : ignored, room, dont_wait);
    if (length < 0 && *__errno_location() == try_again) return;
    if (length <= 0) {
      if (it->state == busy) lose(place);
      else hang_up(place);
      return;
    }
    if (is_head) {
      it->head_length += length;
      if (!read_head(it) && it->head_length == head_max) take_for_noise(it);
    } else it->body_left = it->body_left > length ? it->body_left - length : 0;
    if (it->state == busy && it->body_left == 0) note_answer(place, now_ns());
    // Less than there was room for is all there was, unless the end is still to be read.
    if (it->state == unused || (!has_ended && (size)length < room)) return;
  }
}

static void notice(unsigned what, unsigned long long who) {
  unsigned place = (unsigned)who;
  struct connection *it = &connections[place];
  if (it->generation != who >> 32) return;
  if (it->state == connecting) carry_visit(it);
  else if (it->state == busy) send_rest(it);
  if (what & (readable | ended)) receive(place, what & ended);
}

static void drop_timed_out(nanoseconds now) {
  timeouts_checked_ns = now;
  for (unsigned place = 0; place < connections_max; place += 1) {
    struct connection *it = &connections[place];
    if (it->state != busy && it->state != connecting) continue;
    if (now - it->visit.due_ns <= answer_max_ns) continue;
    hang_up(place);
    in_flight -= 1;
    tally->gave_up += 1;
  }
}

/** Opens the first connections; returns how many of them there are. */
int load_begin(unsigned host, int port, const char *request_bytes, const unsigned *starts, int requests_given,
    int first_connections, int most_connections, int keeps_alive, int spins, double unsent_max, double answer_max,
    struct tally *shared) {
  server.family = internet;
  server.port = (unsigned short)(port >> 8 | port << 8);
  server.host = host;
  requests = request_bytes;
  request_starts = starts;
  request_count = requests_given;
  connections_max = most_connections;
  is_kept_alive = keeps_alive;
  is_spinning = spins;
  unsent_max_ns = unsent_max;
  answer_max_ns = answer_max;
  tally = shared;
  epoll = epoll_create1(0);
  connections = calloc(connections_max, sizeof(struct connection));
  free_places = calloc(connections_max, sizeof(unsigned));
  unused_places = calloc(connections_max, sizeof(unsigned));
  retries = calloc(connections_max, sizeof(struct visit));
  char *heads = calloc(connections_max, head_max);
  for (unsigned place = 0; place < connections_max; place += 1) {
    connections[place].head = heads + place * head_max;
    unused_places[unused_count++] = connections_max - 1 - place;
  }
  for (int opened = 0; opened < first_connections; opened += 1) {
    int place = open_connection(1);
    if (place < 0) return opened;
    set_free(place);
  }
  return first_connections;
}

/** From now on visits come. */
void load_start(double per_second, double count) {
  start_ns = polled_ns = room_since_ns = now_ns();
  step_ns = 1e9 / per_second;
  visit_count = count;
}

/** Sleeps until something comes or the next visit is due, which epoll_wait could do to the millisecond only. */
static void rest(nanoseconds now) {
  nanoseconds until = start_ns + (nanoseconds)(visits_taken * step_ns);
  // A visit that is due already waits for a connection, and only an answer helps it.
  if (until <= now || until > now + rest_max_ns) until = now + rest_max_ns;
  struct polled file = { epoll, readable, 0 };
  struct timespec time = { 0, until - now };
  ppoll(&file, 1, &time, 0);
}

/**
 * Runs for this long after the start, or, if so requested, until every visitor was served if that is sooner. Returns
 * the time since the start, or -1 when an answer cannot be parsed.
 */
double load_run(double until_ns, int ends_when_done) {
  static struct event events[events_max];
  for (;;) {
    nanoseconds now = now_ns();
    int is_done = visits_taken == visit_count && in_flight == 0 && retry_count == 0;
    if (is_chunked) return -1;
    if (now - start_ns >= until_ns || (ends_when_done && is_done)) return now - start_ns;
    send_due(now);
    if (now - timeouts_checked_ns >= timeout_check_ns) drop_timed_out(now);
    if (!is_spinning) rest(now_ns());
    int count = epoll_wait(epoll, events, events_max, 0);
    for (int index = 0; index < count; index += 1) {
      notice(events[index].what, events[index].who);
      send_due(now_ns());
    }
    polled_ns = now;
  }
}
