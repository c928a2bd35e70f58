/** The numbers a scrape shows, gathered from plain fields of the parts that do the work. */
import type { CodeGenerator } from '../codes/generator.ts';
import type { Route } from '../http/route.ts';
import { LabelledCounter, type Metric } from '../ops/metrics.ts';
import type { Resolver } from '../resolve/resolver.ts';

export class Tally {
  readonly redirects = new LabelledCounter<number>();
  readonly #answers = new LabelledCounter<string>();

  countAnswer(route: Route | undefined, status: number): void {
    this.#answers.add(`${route?.name ?? 'none'} ${status}`);
  }

  metrics(resolver: Resolver, generator: CodeGenerator): Metric[] {
    const { hits, misses, shortcuts, storeReads, size } = resolver;
    const one = (name: string, type: Metric['type'], help: string, value: number): Metric => ({
      name,
      type,
      help,
      samples: [{ value }],
    });
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
      one(
        'cache_hit_ratio',
        'gauge',
        'Share of lookups answered from memory.',
        hits / Math.max(1, hits + misses),
      ),
      one('terse_cache_entries', 'gauge', 'Links held in memory.', size),
      one('terse_store_reads_total', 'counter', 'Links read from the store.', storeReads),
      one('terse_never_issued_total', 'counter', 'Unknown codes answered without a read.', shortcuts),
      one('kgs_available_keys', 'gauge', 'Codes at hand without asking the store.', generator.available()),
    ];
  }
}
