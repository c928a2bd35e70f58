/** The numbers a scrape shows, gathered from plain fields of the parts that do the work. */
import type { DropReason } from '../clicks/backlog.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import type { Route } from '../http/route.ts';
import type { HttpServer } from '../http/server.ts';
import { type GaugeRule, LabelledCounter, type Metric } from '../ops/metrics.ts';
import type { Resolver } from '../resolve/resolver.ts';
import type { Clicks } from './clicks.ts';

export class Tally {
  readonly redirects = new LabelledCounter<number>();
  readonly #answers = new LabelledCounter<string>();

  countAnswer(route: Route | undefined, status: number): void {
    this.#answers.add(`${route?.name ?? 'none'} ${status}`);
  }

  metrics(resolver: Resolver, generator: CodeGenerator, clicks: Clicks | undefined): Metric[] {
    const { hits, misses, shortcuts, storeReads, size } = resolver;
    return [
      {
        name: 'url_redirects_total',
        type: 'counter',
        help: 'Visits of short links by the status they got.',
        samples: this.redirects.samples('status'),
      },
      {
        name: 'terse_api_answers_total',
        type: 'counter',
        help: 'API answers by route and status.',
        samples: this.#answers.samples('answer').map(({ labels, value }) => {
          const [route = '', status = ''] = String(labels?.answer).split(' ');
          return { labels: { route, status }, value };
        }),
      },
      // Not a number before the first lookup: nobody has missed anything yet.
      one(
        'cache_hit_ratio',
        'gauge',
        'Share of lookups answered from memory.',
        hits / (hits + misses),
        'average',
      ),
      one('terse_cache_entries', 'gauge', 'Links held in memory.', size, 'sum'),
      one('terse_store_reads_total', 'counter', 'Links read from the store.', storeReads),
      one('terse_never_issued_total', 'counter', 'Unknown codes answered without a read.', shortcuts),
      ...clickMetrics(clicks),
      // Whoever has the fewest is the first to run out.
      one(
        'kgs_available_keys',
        'gauge',
        'Codes at hand in each process without asking the store; the fewest.',
        generator.available(),
        'min',
      ),
    ];
  }
}

const one = (
  name: string,
  type: Metric['type'],
  help: string,
  value: number,
  across: GaugeRule = 'max',
): Metric => ({ name, type, help, across, samples: [{ value }] });

export function connectionMetrics({
  connections,
  inFlight,
  counts: { evicted, turnedAway, shed },
}: Pick<HttpServer, 'connections' | 'inFlight' | 'counts'>): Metric[] {
  return [
    one('terse_connections', 'gauge', 'Clients connected.', connections, 'sum'),
    one('terse_requests_in_flight', 'gauge', 'Requests being worked on.', inFlight, 'sum'),
    one(
      'terse_connections_evicted_total',
      'counter',
      'Waiting connections closed in favour of new ones, because as many were connected as may be.',
      evicted,
    ),
    one(
      'terse_connections_turned_away_total',
      'counter',
      'Connections refused with 503, because all others were busy.',
      turnedAway,
    ),
    one(
      'terse_connections_shed_total',
      'counter',
      'Connections cut off because too much was kept for clients that did not read.',
      shed,
    ),
  ];
}

function clickMetrics(clicks: Clicks | undefined): Metric[] {
  if (clicks === undefined) return [];
  const { recorder, latest } = clicks;
  const { stored = 0, steps = [] } = latest.thread ?? {};
  const { counted = 0, duplicates = 0, lagMs = 0 } = latest.counting ?? latest.thread ?? {};
  const { spilled = 0, spilledBytes = 0, dropped } = latest.thread ?? {};
  const droppedBy: Record<'buffer-full' | DropReason, number> = {
    'buffer-full': recorder.dropped,
    'memory-full': 0,
    'spill-full': 0,
    ...dropped,
  };
  return [
    one('terse_clicks_recorded_total', 'counter', 'Clicks noted.', recorder.recorded),
    one('terse_clicks_stored_total', 'counter', 'Clicks written to the log.', stored),
    one('terse_clicks_counted_total', 'counter', 'Clicks counted, whoever noted them.', counted),
    one('terse_clicks_duplicate_total', 'counter', 'Clicks met twice and counted once.', duplicates),
    one(
      'terse_clicks_spilled_total',
      'counter',
      'Clicks put on disk because the stream could not be written.',
      spilled,
    ),
    one(
      'terse_clicks_spilled_bytes',
      'gauge',
      'Bytes on disk that wait for the stream.',
      spilledBytes,
      'sum',
    ),
    {
      name: 'terse_clicks_dropped_total',
      type: 'counter',
      help: 'Clicks given up before they were stored, by what was full.',
      samples: Object.entries(droppedBy).map(([reason, value]) => ({ labels: { reason }, value })),
    },
    one('terse_clicks_lag_seconds', 'gauge', 'Time since counting last worked.', lagMs / 1_000),
    ...countingMetrics(latest.counting),
    one(
      'terse_clicks_drift_ratio',
      'gauge',
      'Share of noted clicks that were lost; checked each minute.',
      latest.drift ?? 0,
    ),
    {
      name: 'terse_click_step_seconds_total',
      type: 'counter',
      help: 'Time spent in each step of enriching clicks.',
      samples: steps.map(({ name, milliseconds }) => ({
        labels: { step: name },
        value: milliseconds / 1_000,
      })),
    },
  ];
}

/** Of a stream that processes share and count together. */
function countingMetrics(counting: Clicks['latest']['counting']): Metric[] {
  if (counting === undefined) return [];
  const { partitions, behind, blocks, poisoned } = counting;
  return [
    one('terse_clicks_partitions', 'gauge', 'Partitions of clicks counted here.', partitions, 'sum'),
    one(
      'terse_clicks_behind_messages',
      'gauge',
      'Messages in these partitions that are not counted yet.',
      behind,
      'sum',
    ),
    one('terse_clicks_blocks_total', 'counter', 'Blocks of clicks counted.', blocks),
    one(
      'terse_clicks_poisoned_total',
      'counter',
      'Messages passed over because they are no clicks.',
      poisoned,
    ),
  ];
}
