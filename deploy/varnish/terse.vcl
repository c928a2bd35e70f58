# Varnish in front of Terse: redirects are kept by the code of their link, everything else goes straight through.
# Whether a click that Varnish could answer is asked for all the same is for Terse to say (TERSE_EDGE_CLICKS).
# See docs/operations/edge.md. Needs vmod_xkey (Debian: varnish-modules).
vcl 4.1;

import std;
import xkey;

backend terse {
  .host = "127.0.0.1";
  .port = "8080";
  .probe = {
    .url = "/health/live";
    .interval = 1s;
    .timeout = 1s;
    .window = 3;
    .threshold = 2;
    .initial = 2;
  }
}

# Who may purge: the machines that run Terse's workers.
acl purgers {
  "127.0.0.1";
  "::1";
}

sub vcl_recv {
  if (req.method == "PURGE") {
    if (client.ip !~ purgers) {
      return (synth(403, "Forbidden"));
    }
    if (req.http.Surrogate-Key == "*") {
      ban("obj.status != 0");
      return (synth(200, "Everything is forgotten"));
    }
    if (!req.http.Surrogate-Key) {
      return (synth(400, "Surrogate-Key names no code"));
    }
    set req.http.X-Purged = xkey.purge(req.http.Surrogate-Key);
    return (synth(200, "Purged " + req.http.X-Purged));
  }
  # Metrics are not public: Prometheus scrapes Terse directly.
  if (req.url ~ "^/metrics(\?|$)") {
    return (synth(404, "Not Found"));
  }
  if (req.restarts == 0) {
    unset req.http.X-Has-Kept;
    # A stranger's header must not decide what is traced (docs/operations/traces.md).
    unset req.http.traceparent;
  }
  # HEAD and what browsers fetch ahead are told from clicks by Terse, which has to see them for it.
  if (req.method != "GET" || req.url !~ "^/[0-9A-Za-z_-]{1,64}(\?|$)" || req.http.Authorization
      || req.http.Sec-Purpose || req.http.Purpose || req.http.X-Purpose || req.http.X-Moz) {
    return (pass);
  }
  return (hash);
}

# Nothing that is kept depends on the query: what does, Terse marks as private.
sub vcl_hash {
  hash_data(regsub(req.url, "\?.*$", ""));
  return (lookup);
}

sub vcl_hit {
  # What has to be asked for is answered from here only when nobody answers there.
  if (obj.http.X-Ask-First && req.restarts == 0 && std.healthy(req.backend_hint)) {
    set req.http.X-Has-Kept = "yes";
    return (pass);
  }
}

sub vcl_backend_response {
  if (beresp.http.Surrogate-Key && beresp.http.Cache-Control ~ "^public"
      && (beresp.status == 301 || beresp.status == 302 || beresp.status == 307 || beresp.status == 308)) {
    set beresp.http.xkey = beresp.http.Surrogate-Key;
    # No longer than Terse says: nobody would purge what is beyond it.
    set beresp.grace = 0s;
    set beresp.keep = 0s;
    if (beresp.http.Cache-Control ~ "stale-if-error=[0-9]+") {
      set beresp.http.X-Ask-First = "yes";
      set beresp.ttl = std.duration(regsub(beresp.http.Cache-Control, "^.*stale-if-error=([0-9]+).*$", "\1s"), 0s);
    }
    if (beresp.ttl > 0s) {
      return (deliver);
    }
  }
  set beresp.uncacheable = true;
  set beresp.ttl = 120s;
  return (deliver);
}

sub vcl_deliver {
  # Terse has gone since the last probe, and there is something to answer with.
  if (req.http.X-Has-Kept && req.restarts == 0 && resp.status >= 502) {
    return (restart);
  }
  # Caches further on could not be purged.
  if (resp.http.Surrogate-Key) {
    set resp.http.Cache-Control = regsub(resp.http.Cache-Control, "^public, (max-age=[0-9]+),.*$", "private, \1");
  }
  unset resp.http.Surrogate-Key;
  unset resp.http.xkey;
  unset resp.http.X-Ask-First;
}
