/** The effects of accepted requests about moderation; part of the table in effects.ts. */
import { expect } from 'bun:test';
import type { Accepted } from './effects.ts';
import { isHeld, type LinkView, type ModelLink } from './model.ts';
import { subject } from './subject.ts';

const statusAfter = { quarantine: 'quarantined', block: 'blocked', disable: 'blocked' } as const;

export const moderationEffects: Readonly<Record<string, (accepted: Accepted) => void>> = {
  reportLink({ sent, body, model }) {
    const { shortCode } = sent.input as { shortCode: string };
    expect(model.links.get(shortCode)).toMatchObject({ deleted: false });
    expect(body).toEqual({ status: 'received' });
  },
  readReportPage: ({ answer }) => expect(answer.mediaType).toBe('text/html'),
  appealLink({ sent, model }) {
    expect(isHeld(subject(sent, model).view)).toBe(true);
  },

  readQueue({ sent, body, model }) {
    expect(sent.owner).toBe('admin');
    for (const { link } of body.entries) expectShown(link, model.links.get(link.shortCode)!);
  },
  readCase({ sent, body, model }) {
    expect(sent.owner).toBe('admin');
    expectShown(body.link, subject(sent, model));
  },
  noteLink({ sent, body }) {
    const { text } = sent.input as { text: string };
    expect(body.history.entries[0]).toMatchObject({ action: 'link.noted', reason: text });
  },
  decideLink({ sent, body, model }) {
    const link = subject(sent, model);
    const { decision, reason, version } = sent.input as { decision: string; reason: string; version: number };
    const before = link.view.status;
    const status =
      decision === 'allow' ? body.link.status : statusAfter[decision as keyof typeof statusAfter];
    if (decision === 'allow') expect(isHeld(body.link)).toBe(false);
    link.view = { ...link.view, status: storedStatus(status, before), updatedAt: body.history.entries[0].at };
    expect(body.link.version).toBe(version + 1);
    expect(body.history.entries[0]).toMatchObject({ action: 'link.decided', reason });
  },
  decideLinks({ sent, body }) {
    expect(sent.owner).toBe('admin');
    // Random accounts and domains never exist.
    expect(body).toEqual({ decided: 0, unchanged: 0, nextCursor: null });
  },

  readAudit: ({ sent }) => expect(sent.owner).toBe('admin'),
  readHistory({ sent, body, model }) {
    expect(model.manageable(sent.places.code!, sent.owner)).toBeDefined();
    expect(JSON.stringify(body.entries)).not.toContain('accountId');
  },
};

function expectShown(
  { longUrl, title }: { longUrl: string; title: string | null },
  { view }: ModelLink,
): void {
  expect({ longUrl, title }).toEqual({ longUrl: view.longUrl, title: view.title });
}

/** The stored status, which a click limit may hide. */
function storedStatus(shown: LinkView['status'], before: LinkView['status']): LinkView['status'] {
  if (shown !== 'exhausted' && shown !== 'expired') return shown;
  return before === 'disabled' ? 'disabled' : 'active';
}
