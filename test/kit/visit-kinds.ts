/**
 * Realistic visits: the user agents of the sample table, a few referrers, people and bots, GET and HEAD, each with the
 * traits that it must be counted with.
 */
import { type AgentSample, agentSamples } from '../../src/clicks/steps/agent-samples.ts';
import type { VisitKind } from './visit-load.ts';

export interface SampleVisit extends VisitKind {
  readonly agent: AgentSample;
  /** The referrer's domain in statistics. */
  readonly domain: string;
  readonly address: string | undefined;
}

export interface SampleVisitOptions {
  readonly codes: readonly string[];
  /** The addresses for `X-Forwarded-For`, in turn; empty for no such header. */
  readonly addresses?: readonly string[];
  /** How many visitors there are of each agent and link; they differ if there are that many addresses. */
  readonly visitorsPerAgent?: number;
}

const referrers = [
  { header: '', domain: '' },
  { header: 'https://news.example.com/today?utm_source=x', domain: 'news.example.com' },
  { header: 'https://www.social.example/post/1', domain: 'social.example' },
  { header: 'android-app://com.google.android.gm/', domain: 'com.google.android.gm' },
] as const;

/** Every n-th visit is a HEAD. */
const headEvery = 13;

/** Each agent follows each link; referrers, methods and addresses are spread over these visits. */
export function sampleVisits(options: SampleVisitOptions): SampleVisit[] {
  const { codes, addresses = [], visitorsPerAgent = 1 } = options;
  const agents = Array.from({ length: visitorsPerAgent }, () => agentSamples).flat();
  return codes.flatMap((code, link) =>
    agents.map((agent, index) => {
      const number = link * agents.length + index;
      const { header, domain } = referrers[number % referrers.length]!;
      const method = number % headEvery === 0 ? 'HEAD' : 'GET';
      const address = addresses[number % addresses.length];
      const lines = [
        `${method} /${code} HTTP/1.1`,
        'Host: localhost',
        ...(agent.userAgent === '' ? [] : [`User-Agent: ${agent.userAgent}`]),
        ...(header === '' ? [] : [`Referer: ${header}`]),
        ...(address === undefined ? [] : [`X-Forwarded-For: ${address}`]),
      ];
      return {
        code,
        agent,
        domain,
        address,
        isHuman: method === 'GET' && agent.kind === 'human',
        request: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
      };
    }),
  );
}
