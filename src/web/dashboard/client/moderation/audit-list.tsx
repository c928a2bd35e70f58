/** Entries of the audit trail: who, what, before and after, when and why. */
import { texts } from '../../texts.ts';
import type { AuditEntry } from '../api/moderation.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { hrefOf } from '../state/router.ts';
import { Changes } from '../ui/changes.tsx';

export function AuditList({
  entries,
  showsSubject = false,
}: {
  readonly entries: readonly AuditEntry[];
  readonly showsSubject?: boolean;
}) {
  return (
    <ol class="history">
      {entries.map(entry => (
        <li key={entry.id}>
          <p>
            <strong>{texts.history.actions[entry.action] ?? entry.action}</strong>{' '}
            {showsSubject && <Subject entry={entry} />}{' '}
            <span class="quiet">
              {actorOf(entry)} · <time title={formatMoment(entry.at)}>{formatAgo(entry.at)}</time>
            </span>
          </p>
          {entry.reason !== null && <p class="history-reason">{entry.reason}</p>}
          <Changes before={fieldsOf(entry.before)} after={fieldsOf(entry.after)} />
        </li>
      ))}
    </ol>
  );
}

function Subject({ entry: { subject } }: { readonly entry: AuditEntry }) {
  if (subject.kind !== 'link') return <code>{subject.id}</code>;
  return <a href={hrefOf(`/moderation?link=${encodeURIComponent(subject.id)}`)}>/{subject.id}</a>;
}

function actorOf({ actor }: AuditEntry): string {
  return actor.accountId ?? texts.history.by[actor.kind] ?? actor.kind;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
