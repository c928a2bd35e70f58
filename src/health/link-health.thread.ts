/**
 * The entry point of the thread that checks whether destinations still respond. Names are resolved and connections
 * made here, where no visitor waits for them. It can be stopped at any moment: the next one resumes at its page.
 */
import { lookup } from 'node:dns/promises';
import { createTrust } from '../base/addresses.ts';
import { systemClock } from '../base/clock.ts';
import { giveWay, ThreadCaller } from '../base/thread-call.ts';
import type { Config } from '../config/config.ts';
import { createLinkPages } from '../stores/link-pages.ts';
import { createAsk, createExchange, isPublicAddress } from './ask.ts';
import type { HealthStore } from './health.ts';
import { HealthWalker, type WalkerCounts } from './walker.ts';

declare const self: Worker;

giveWay();

export interface LinkHealthSettings {
  readonly config: Pick<
    Config,
    'links' | 'data' | 'linkHealthHours' | 'linkHealthRate' | 'linkHealthNetworks'
  >;
  readonly runner: string;
  readonly userAgent: string;
}

export type LinkHealthMessage =
  | { readonly kind: 'counts'; readonly counts: WalkerCounts }
  | { readonly kind: 'problem'; readonly detail: string };

const hourMs = 60 * 60_000;

/** The store is on the main thread. */
const main = new ThreadCaller<Pick<HealthStore, keyof HealthStore>>(self);
const store: HealthStore = {
  find: codes => main.call('find', codes),
  save: (records, now, keepMs) => main.call('save', records, now, keepMs),
  takeTurn: (runner, now, turnMs) => main.call('takeTurn', runner, now, turnMs),
  noteTurn: (runner, position) => main.call('noteTurn', runner, position),
};

async function start({ config, runner, userAgent }: LinkHealthSettings): Promise<void> {
  const tell = (message: LinkHealthMessage): void => self.postMessage(message);
  const isAllowed = createTrust(config.linkHealthNetworks);
  const walker = new HealthWalker({
    store,
    links: createLinkPages(config),
    ask: createAsk({
      resolve: async host => (await lookup(host, { all: true })).map(({ address }) => address),
      exchange: createExchange({ userAgent }),
      clock: systemClock,
      mayConnectTo: address => isPublicAddress(address) || isAllowed(address),
    }),
    runner,
    roundMs: config.linkHealthHours * hourMs,
    checksPerS: config.linkHealthRate,
    clock: systemClock,
    onProblem: error =>
      tell({ kind: 'problem', detail: error instanceof Error ? error.message : String(error) }),
    onPage: counts => tell({ kind: 'counts', counts }),
  });
  await walker.run();
}

self.onmessage = ({ data }: MessageEvent<LinkHealthSettings>) => {
  if (!main.take(data)) void start(data);
};
