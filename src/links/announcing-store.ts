/**
 * A link store that tells of its changes. Every write that visitors could notice is announced after it is durable and
 * before its caller hears of it, in one place, so that no verb can forget to. A counted click is not: every process asks
 * the store for it, whatever it remembers.
 */
import type { Link } from './link.ts';
import type { LinkStore } from './store.ts';

/** Told the codes whose records changed, or came to be where visitors may have been told that there is nothing. */
export type Announce = (codes: readonly string[]) => Promise<void> | void;

/** `onMade` is told of links with leased codes, which nobody has to forget. */
export function announcingStore(
  store: LinkStore,
  announce: Announce,
  onMade: (link: Link) => void = () => {},
): LinkStore {
  return {
    ...store,
    async insert(items) {
      const outcomes = await store.insert(items);
      const inserted = items.filter((_, index) => outcomes[index]?.kind === 'inserted');
      for (const { link, leased } of inserted) if (leased) onMade(link);
      const codes = inserted.filter(({ leased }) => !leased).map(({ link }) => link.code);
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
