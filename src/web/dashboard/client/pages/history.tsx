/** The audit log, and the history of one link: who, what, before and after, when and why. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { readAudit, readHistory } from '../api/calls.ts';
import type { AuditEntry, LinkView, Role } from '../api/types.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { useResource } from '../state/connection.ts';
import { hrefOf, setQuery, usePlace } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Select } from '../ui/field.tsx';
import { Empty, Loaded, PageHeader, Skeleton } from '../ui/page.tsx';
import { showProblem } from '../ui/toast.tsx';

const kindsFor: Readonly<Record<Role, readonly string[]>> = {
  member: [],
  moderator: ['link', 'report', 'domain'],
  admin: ['link', 'report', 'domain', 'account', 'key'],
};

export function AuditPage({ role }: { readonly role: Role }) {
  const { query } = usePlace();
  const kind = query.get('kind') ?? undefined;
  const resource = useResource(kind ?? '', signal => readAudit({ subjectKind: kind }, signal));
  return (
    <>
      <PageHeader title={texts.audit.title} note={texts.audit.note}>
        <Select
          label={texts.audit.kind}
          value={kind ?? ''}
          choices={[
            { value: '', label: texts.audit.allKinds },
            ...kindsFor[role].map(value => ({ value, label: texts.audit.kinds[value] ?? value })),
          ]}
          onValue={value => setQuery({ kind: value })}
        />
      </PageHeader>
      <Loaded resource={resource} skeleton={<Skeleton lines={8} />}>
        {page =>
          page.entries.length === 0 && page.nextCursor === null ? (
            <Empty icon="history" title={texts.audit.none} />
          ) : (
            <div class="card">
              <Pages key={kind ?? ''} first={page.entries} cursor={page.nextCursor} kind={kind} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}

interface PagesProps {
  readonly first: readonly AuditEntry[];
  readonly cursor: string | null;
  readonly kind: string | undefined;
}

function Pages({ first, cursor, kind }: PagesProps) {
  const [more, setMore] = useState<{ entries: readonly AuditEntry[]; cursor: string | null }>({
    entries: [],
    cursor,
  });
  const [isBusy, setBusy] = useState(false);
  const readMore = async (): Promise<void> => {
    setBusy(true);
    try {
      const page = await readAudit({ subjectKind: kind, cursor: more.cursor ?? undefined });
      setMore({ entries: [...more.entries, ...page.entries], cursor: page.nextCursor });
    } catch (error) {
      showProblem(error);
    }
    setBusy(false);
  };
  return (
    <>
      <AuditList entries={[...first, ...more.entries]} showsSubject />
      {more.cursor !== null && (
        <Button busy={isBusy} onClick={() => void readMore()}>
          {texts.audit.more}
        </Button>
      )}
    </>
  );
}

/** Entries of the audit log: who, what, before and after, when and why. */
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
        <HistoryRow key={entry.id} entry={entry} by={actorOf(entry)}>
          {showsSubject && <Subject entry={entry} />}{' '}
        </HistoryRow>
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

/** The history of a link, with actor and reason: its own changes and the decisions of moderation. */
export function LinkHistory({ link }: { readonly link: LinkView }) {
  // Every change of the link updates its time of change, and so reloads the history.
  const resource = useResource(`${link.shortCode}|${link.updatedAt}|${link.status}`, signal =>
    readHistory(link.shortCode, signal),
  );
  return (
    <section class="card" aria-label={texts.history.title}>
      <h2>{texts.history.title}</h2>
      <Loaded resource={resource}>
        {({ entries }) => (
          <ol class="history">
            {entries.map((entry, index) => (
              <HistoryRow key={index} entry={entry} by={texts.history.by[entry.by] ?? entry.by} />
            ))}
          </ol>
        )}
      </Loaded>
    </section>
  );
}

interface HistoryRowProps {
  readonly entry: Pick<AuditEntry, 'at' | 'action' | 'before' | 'after' | 'reason'>;
  readonly by: string;
  readonly children?: ComponentChildren;
}

function HistoryRow({ entry: { at, action, before, after, reason }, by, children }: HistoryRowProps) {
  return (
    <li>
      <p>
        <strong>{texts.history.actions[action] ?? action}</strong> {children}
        <span class="quiet">
          {by} · <time title={formatMoment(at)}>{formatAgo(at)}</time>
        </span>
      </p>
      {reason !== null && <p class="history-reason">{reason}</p>}
      <Changes before={fieldsOf(before)} after={fieldsOf(after)} />
    </li>
  );
}

type Fields = Readonly<Record<string, unknown>> | null;

/** Shown elsewhere in the entry, or of no use to a reader. */
const unshown: ReadonlySet<string> = new Set(['id', 'accountId', 'sessionId', 'origin', 'entry', 'reason']);

/** The differences between before and after, field by field, as text. */
function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter(
    name =>
      !unshown.has(name) &&
      JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]) &&
      !(isNothing(before?.[name]) && isNothing(after?.[name])),
  );
  if (changed.length === 0) return null;
  return (
    <ul class="changes">
      {changed.map(name => (
        <li key={name}>
          <span class="quiet">{name}</span>
          {before !== null && name in before && <del>{shown(before[name])}</del>}
          {after !== null && name in after && <ins>{shown(after[name])}</ins>}
        </li>
      ))}
    </ul>
  );
}

const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

function shown(value: unknown): string {
  if (isNothing(value)) return '–';
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(shown).join(', ');
  return Object.values(value as Record<string, unknown>)
    .map(shown)
    .join(' · ');
}
