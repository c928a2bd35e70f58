/**
 * A link store that announces its changes. Every write that visitors could notice is announced after it is durable and
 * before its caller is answered, in one place, so that no verb can forget to. A counted click is not: every process
 * asks the store for it, whatever it has cached.
 */
import type { Link } from './link.ts';
import type { LinkStore } from './store.ts';

/** Called with the codes whose records changed, or were created where visitors may have got a 404. */
export type Announce = (codes: readonly string[]) => Promise<void> | void;

/** `onMade` receives links with leased codes, which no cache has to invalidate. */
export function announcingStore(
  store: LinkStore,
  announce: Announce,
  onMade: (link: Link) => void = () => {},
): LinkStore {
  return {
    ...store,
    async insert(items) {
      const outcomes = await store.insert(items);
      const codes: string[] = [];
      items.forEach(({ link, leased }, index) => {
        if (outcomes[index]?.kind !== 'inserted') return;
        if (leased) onMade(link);
        else codes.push(link.code);
      });
      if (codes.length > 0) await announce(codes);
      return outcomes;
    },
    async replace(link, trace) {
      const outcome = await store.replace(link, trace);
      if (outcome === 'replaced') await announce([link.code]);
      return outcome;
    },
  };
}

/** A store that reports every link that is created or read through it, except links that cannot be followed. */
export function observedStore(store: LinkStore, see: (link: Link) => void): LinkStore {
  const look = (link: Link | undefined): void => {
    if (link?.status === 'active' || link?.status === 'quarantined') see(link);
  };
  return {
    ...store,
    async find(code) {
      const link = await store.find(code);
      look(link);
      return link;
    },
    async insert(items) {
      const outcomes = await store.insert(items);
      outcomes.forEach(({ kind }, index) => {
        if (kind === 'inserted') look(items[index]?.link);
      });
      return outcomes;
    },
  };
}
