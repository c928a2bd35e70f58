# Varnish in front of Terse: redirects are cached by the code of their link, everything else goes straight through.
# TERSE_EDGE_CLICKS decides whether Varnish still asks Terse for a cached redirect.
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

# Clients that may purge: the machines that run Terse's workers.
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
      return (synth(200, "Purged everything"));
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
    # A client's header must not decide what is traced (docs/operations/traces.md).
    unset req.http.traceparent;
  }
  # Terse distinguishes HEAD requests and prefetches from clicks, so it has to see them.
  if (req.method != "GET" || req.url !~ "^/[0-9A-Za-z_-]{1,64}(\?|$)" || req.http.Authorization
      || req.http.Sec-Purpose || req.http.Purpose || req.http.X-Purpose || req.http.X-Moz) {
    return (pass);
  }
  return (hash);
}

# No cached answer depends on the query: Terse marks those that do as private.
sub vcl_hash {
  hash_data(regsub(req.url, "\?.*$", ""));
  return (lookup);
}

sub vcl_hit {
  # Answers that need revalidation are served from the cache only while Terse is down.
  if (obj.http.X-Ask-First && req.restarts == 0 && std.healthy(req.backend_hint)) {
    set req.http.X-Has-Kept = "yes";
    return (pass);
  }
}

sub vcl_backend_response {
  if (beresp.http.Surrogate-Key && beresp.http.Cache-Control ~ "^public"
      && (beresp.status == 301 || beresp.status == 302 || beresp.status == 307 || beresp.status == 308)) {
    set beresp.http.xkey = beresp.http.Surrogate-Key;
    # No longer than Terse allows: Terse does not purge entries past that time.
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
  # Terse went down since the last probe, and the cache has an answer.
  if (req.http.X-Has-Kept && req.restarts == 0 && resp.status >= 502) {
    return (restart);
  }
  # Terse cannot purge caches further downstream.
  if (resp.http.Surrogate-Key) {
    set resp.http.Cache-Control = regsub(resp.http.Cache-Control, "^public, (max-age=[0-9]+),.*$", "private, \1");
  }
  unset resp.http.Surrogate-Key;
  unset resp.http.xkey;
  unset resp.http.X-Ask-First;
}
