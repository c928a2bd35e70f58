/**
 * The outbox: events about links, for subscribers such as webhooks. The store appends an event in the transaction of its
 * change, under the change's number in the feed, and keeps it until it was consumed, however long the feed itself is
 * kept. Only links whose owner has a subscriber have events: for all others a write is what it is without an outbox.
 */
import { withLaterFields } from './fields.ts';
import type { Link } from './link.ts';
import type { LinkStore } from './store.ts';
import type { LinkTrace } from './trace.ts';

export type EventType = 'link.created' | 'link.updated' | 'link.decided' | 'link.deleted';

export interface LinkEvent {
  readonly seq: number;
  readonly type: EventType;
  /** As the change left it: the tombstone of a deleted one. */
  readonly link: Link;
}

/** An event as stores keep it. */
export interface EventRow {
  readonly seq: number;
  readonly type: EventType;
  readonly link: string;
}

export const eventOf = ({ seq, type, link }: EventRow): LinkEvent => ({
  seq,
  type,
  link: withLaterFields(JSON.parse(link) as Link),
});

/** Wraps the store that writes to the engine, so that queued links have their events when they are stored. */
export function outboxStore(store: LinkStore, hasSubscriber: (ownerId: string | null) => boolean): LinkStore {
  return {
    ...store,
    insert(items) {
      if (!items.some(({ link }) => hasSubscriber(link.ownerId))) return store.insert(items);
      return store.insert(
        items.map(item => (hasSubscriber(item.link.ownerId) ? { ...item, event: 'link.created' } : item)),
      );
    },
    replace: (link, trace) =>
      store.replace(link, trace, hasSubscriber(link.ownerId) ? changeType(link, trace) : undefined),
  };
}

function changeType({ status }: Link, trace: LinkTrace | undefined): EventType {
  if (status === 'deleted') return 'link.deleted';
  return trace?.audit.action === 'link.decided' ? 'link.decided' : 'link.updated';
}
