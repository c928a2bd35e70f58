/**
 * The entry point of the thread that asks destinations whether they still answer. Names are resolved and connections
 * made here, where no visitor waits for any of it. It can be ended at any moment: the next one goes on at its page.
 */
import { lookup } from 'node:dns/promises';
import { systemClock } from '../base/clock.ts';
import { createAsk } from '../health/ask.ts';
import { createExchange } from '../health/exchange.ts';
import { isPublicAddress } from '../health/public-address.ts';
import { HealthWalker, type WalkerCounts } from '../health/walker.ts';
import { createTrust } from '../http/client-address.ts';
import { giveWay } from './background-thread.ts';
import type { Config } from './config.ts';
import { openHealthStore } from './link-health-store.ts';
import { createLinkPages } from './link-pages.ts';

declare const self: Worker;

giveWay();

export interface LinkHealthSettings
  extends Pick<
    Config,
    'links' | 'data' | 'cache' | 'linkHealthHours' | 'linkHealthRate' | 'linkHealthNetworks'
  > {
  readonly runner: string;
  readonly userAgent: string;
}

export type LinkHealthMessage =
  | { readonly kind: 'counts'; readonly counts: WalkerCounts }
  | { readonly kind: 'problem'; readonly detail: string };

const hourMs = 60 * 60_000;

async function start(settings: LinkHealthSettings): Promise<void> {
  const tell = (message: LinkHealthMessage): void => self.postMessage(message);
  const isAllowed = createTrust(settings.linkHealthNetworks);
  const walker = new HealthWalker({
    store: await openHealthStore(settings, systemClock),
    links: createLinkPages(settings),
    ask: createAsk({
      resolve: async host => (await lookup(host, { all: true })).map(({ address }) => address),
      exchange: createExchange({ userAgent: settings.userAgent }),
      clock: systemClock,
      mayConnectTo: address => isPublicAddress(address) || isAllowed(address),
    }),
    runner: settings.runner,
    roundMs: settings.linkHealthHours * hourMs,
    asksPerS: settings.linkHealthRate,
    clock: systemClock,
    onProblem: error =>
      tell({ kind: 'problem', detail: error instanceof Error ? error.message : String(error) }),
    onPage: counts => tell({ kind: 'counts', counts }),
  });
  await walker.run();
}

self.onmessage = ({ data }: MessageEvent<LinkHealthSettings>) => void start(data);
