/**
 * What the runs of `test/foreign` found, as tables of docs/foreign-suites.md. The tests write `results.json` with
 * TERSE_TEST_RECORD=1.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { markdown } from '../kit/risk-report.ts';

export interface LlhttpResults {
  readonly vectors: number;
  /** How many agree, by what had to be added to compare them. */
  readonly agreed: Readonly<Record<string, number>>;
  readonly differences: readonly {
    readonly kind: 'stricter' | 'looser';
    readonly reason: string;
    readonly vectors: number;
  }[];
  readonly boundaryDisagreements: number;
}

export interface ProxyResults {
  /** As the proxy names itself. */
  readonly version: string;
  /** Cases, each on a connection of its own. */
  readonly sent: number;
  /** Requests that the proxy forwarded and a handler saw; a case may have several. */
  readonly forwarded: number;
  /** Cases of which Terse answered nothing. */
  readonly rejectedByProxy: number;
  /** Messages that the proxy forwarded and Terse rejected. */
  readonly rejectedByTerse: number;
  readonly boundaryDisagreements: number;
}

export type ProxyName = 'nginx' | 'haproxy' | 'varnish';

export type Results = { readonly llhttp?: LlhttpResults } & {
  readonly [Proxy in ProxyName]?: ProxyResults;
};

const path = join(import.meta.dir, 'results.json');

export const recordedResults = (): Results => JSON.parse(readFileSync(path, 'utf8'));

/** Only with TERSE_TEST_RECORD=1. */
export async function recordResults<Name extends keyof Results>(
  name: Name,
  results: Results[Name],
): Promise<void> {
  if (process.env.TERSE_TEST_RECORD !== '1') return;
  await Bun.write(path, `${JSON.stringify({ ...recordedResults(), [name]: results }, undefined, 2)}\n`);
}

export function llhttpTables(): string {
  const { vectors, agreed, differences, boundaryDisagreements } = recordedResults().llhttp!;
  const total = (kind: 'stricter' | 'looser'): number =>
    differences.filter(each => each.kind === kind).reduce((sum, each) => sum + each.vectors, 0);
  return [
    markdown(
      ['Outcome', 'Vectors'],
      [
        ['agree as they are', agreed.nothing ?? 0],
        ['agree once each HTTP/1.1 request names a Host; Terse rejects it otherwise', agreed.Host ?? 0],
        [
          'agree once the head has ended: llhttp rejects it before, Terse then',
          agreed['the end of the head'] ?? 0,
        ],
        ['Terse is stricter on purpose', total('stricter')],
        ['Terse accepts what llhttp rejects, with the same message boundaries', total('looser')],
        ['disagree on message boundaries', boundaryDisagreements],
        ['all', vectors],
      ],
    ),
    markdown(
      ['Terse is', 'Vectors', 'Why'],
      differences.map(each => [each.kind, each.vectors, each.reason]),
    ),
  ].join('\n\n');
}

export function proxyTable(): string {
  const recorded = recordedResults();
  return markdown(
    [
      'Proxy',
      'Cases sent',
      'Requests that Terse saw',
      'Cases without an answer of Terse',
      'Messages that Terse rejected',
      'Boundary disagreements',
    ],
    (['nginx', 'haproxy', 'varnish'] as const).flatMap(name => {
      const row = recorded[name];
      if (row === undefined) return [];
      const { version, sent, forwarded, rejectedByProxy, rejectedByTerse, boundaryDisagreements } = row;
      return [
        [`${name} ${version}`, sent, forwarded, rejectedByProxy, rejectedByTerse, boundaryDisagreements],
      ];
    }),
  );
}
