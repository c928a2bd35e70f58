/** The effects of accepted requests about the blocklist; part of the table in effects.ts. */
import { expect } from 'bun:test';
import type { Accepted } from './effects.ts';

/** A host on the list file of the fuzzed server. */
export const listedHost = 'listed.example';

export const blocklistEffects: Readonly<Record<string, (accepted: Accepted) => void>> = {
  readBlocklist({ sent, body, model }) {
    expect(body.lists[1]).toMatchObject({ state: 'loaded', entries: 1, fault: null });
    if (new URLSearchParams(sent.plan.query).has('cursor')) return;
    const limit = Number(new URLSearchParams(sent.plan.query).get('limit') ?? 100);
    const ids = body.entries.map(({ id }: { id: string }) => id);
    expect(ids).toEqual([...model.blockEntries.keys()].slice(0, limit));
    expect(body.nextCursor === null).toBe(model.blockEntries.size <= limit);
  },
  addBlockEntry({ sent, answer, body, model }) {
    const { reason = null } = sent.input as { reason?: string | null };
    expect(answer.status).toBe(model.blockEntries.has(body.id) ? 200 : 201);
    if (answer.status === 201) expect(body.reason).toBe(reason);
    else expect(body.entry).toBe(model.blockEntries.get(body.id)!);
    model.blockEntries.set(body.id, body.entry);
  },
  removeBlockEntry({ sent, model }) {
    expect(model.blockEntries.delete(sent.places.entryId!)).toBe(true);
  },
};
