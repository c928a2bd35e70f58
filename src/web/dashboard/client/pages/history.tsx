/** The audit log, and the history of one link: who, what, before and after, when and why. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Words } from '../../texts/frame.ts';
import { texts } from '../../texts.ts';
import { readAudit, readHistory } from '../api/calls.ts';
import type { AuditEntry, LinkView, AuditPage as Page, Role } from '../api/types.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { usePages } from '../state/connection.ts';
import { hrefOf, setQuery, usePlace } from '../state/router.ts';
import { Select } from '../ui/field.tsx';
import { Empty, Loaded, MorePages, PageHeader, Skeleton } from '../ui/page.tsx';

const kindsFor: Readonly<Record<Role, readonly string[]>> = {
  member: [],
  moderator: ['link', 'domain'],
  admin: ['link', 'domain', 'account', 'key'],
};

export function AuditPage({ role }: { readonly role: Role }) {
  const { query } = usePlace();
  const kind = query.get('kind') ?? undefined;
  const pages = usePages(
    kind ?? '',
    (cursor, signal) => readAudit({ subjectKind: kind, cursor }, signal),
    joined,
  );
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
      <Loaded resource={pages} skeleton={<Skeleton lines={8} />}>
        {({ entries, accountNames, nextCursor }) =>
          entries.length === 0 && nextCursor === null ? (
            <Empty icon="history" title={texts.audit.none} />
          ) : (
            <div class="card" data-stale={!pages.isCurrent}>
              <AuditList entries={entries} names={accountNames} />
              <MorePages pages={pages} label={texts.audit.more} />
            </div>
          )
        }
      </Loaded>
    </>
  );
}

const joined = (before: Page, next: Page): Page => ({
  entries: [...before.entries, ...next.entries],
  accountNames: { ...before.accountNames, ...next.accountNames },
  nextCursor: next.nextCursor,
});

/** The full history of a link; the case already has the first page. */
export function CaseHistory({ code, first }: { readonly code: string; readonly first: Page }) {
  const pages = usePages(
    `${code} ${first.entries[0]?.id}`,
    async (cursor, signal) =>
      cursor === undefined ? first : readAudit({ subjectKind: 'link', subjectId: code, cursor }, signal),
    joined,
  );
  const { entries, accountNames } = pages.value ?? first;
  return (
    <>
      <AuditList entries={entries} names={accountNames} />
      <MorePages pages={pages} label={texts.audit.more} isQuiet />
    </>
  );
}

/** Display names by the id of their account. */
type Names = Readonly<Record<string, string>>;

/** Entries of the audit log: who, what, before and after, when and why. */
function AuditList({ entries, names }: { readonly entries: readonly AuditEntry[]; readonly names: Names }) {
  return (
    <ol class="history">
      {entries.map(entry => (
        <HistoryRow key={entry.id} entry={entry}>
          <AuditSentence entry={entry} names={names} />
          <When at={entry.at} />
        </HistoryRow>
      ))}
    </ol>
  );
}

interface AuditSentenceProps {
  readonly entry: AuditEntry;
  readonly names: Names;
}

/**
 * An entry as a sentence with names: “Anna invited Ben”. Its placeholders are filled with elements, so that each language
 * has its own word order.
 */
function AuditSentence({ entry, names }: AuditSentenceProps) {
  const parts: Readonly<Record<string, ComponentChildren>> = {
    '{who}': <strong>{actorName(entry, names)}</strong>,
    '{what}': <Subject entry={entry} names={names} />,
  };
  return (
    <>
      {sentenceOf(entry)
        .split(/(\{\w+\})/)
        .map(part => parts[part] ?? part)}
    </>
  );
}

function sentenceOf({ action, after }: AuditEntry): string {
  const { actions, unknownAction } = texts.audit;
  const status = fieldsOf(after)?.status;
  return actions[`${action}.${status}`] ?? actions[action] ?? unknownAction(action);
}

function actorName({ actor }: AuditEntry, names: Names): string {
  if (actor.kind === 'system') return texts.audit.system;
  if (actor.accountId === null) return texts.audit.someone;
  return names[actor.accountId] ?? texts.audit.formerAccount;
}

function Subject({ entry, names }: AuditSentenceProps) {
  const { kind, id } = entry.subject;
  if (kind === 'link' || kind === 'report')
    return <a href={hrefOf(`/moderation?link=${encodeURIComponent(id)}`)}>/{id}</a>;
  if (kind === 'domain') return <bdi class="audit-name">{id}</bdi>;
  // The name of a key is only in its own entries.
  const { name } = fieldsOf(entry.after) ?? fieldsOf(entry.before) ?? {};
  const known = kind === 'account' ? names[id] : undefined;
  return <bdi class="audit-name">{known ?? (typeof name === 'string' ? name : id)}</bdi>;
}

function When({ at }: { readonly at: string }) {
  return (
    <span class="quiet">
      {' · '}
      <time dateTime={at} title={formatMoment(at)}>
        {formatAgo(at)}
      </time>
    </span>
  );
}

/** The history of a link, with actor and reason: its own changes and the decisions of moderation. */
export function LinkHistory({ link }: { readonly link: LinkView }) {
  // Every change of the link updates its time of change, and so reloads the history.
  const pages = usePages(
    `${link.shortCode}|${link.updatedAt}|${link.status}`,
    (cursor, signal) => readHistory(link.shortCode, cursor, signal),
    (before, next) => ({ ...next, entries: [...before.entries, ...next.entries] }),
  );
  return (
    <section class="card" aria-label={texts.history.title}>
      <h2>{texts.history.title}</h2>
      <Loaded resource={pages}>
        {({ entries }) => (
          <>
            <ol class="history">
              {entries.map((entry, index) => (
                <HistoryRow key={index} entry={entry}>
                  <strong>{texts.history.actions[entry.action] ?? entry.action}</strong>{' '}
                  <span class="quiet">{texts.history.by[entry.by] ?? entry.by}</span>
                  <When at={entry.at} />
                </HistoryRow>
              ))}
            </ol>
            <MorePages pages={pages} label={texts.audit.more} isQuiet />
          </>
        )}
      </Loaded>
    </section>
  );
}

interface HistoryRowProps {
  readonly entry: Pick<AuditEntry, 'at' | 'action' | 'before' | 'after' | 'reason'>;
  /** The entry in words. */
  readonly children: ComponentChildren;
}

/** An entry in words, with its changes; the stored entry on demand. */
function HistoryRow({ entry, children }: HistoryRowProps) {
  return (
    <li>
      <p>{children}</p>
      {entry.reason !== null && <p class="history-reason">{entry.reason}</p>}
      <Changes before={fieldsOf(entry.before)} after={fieldsOf(entry.after)} />
      <RawEntry entry={entry} />
    </li>
  );
}

function RawEntry({ entry }: { readonly entry: unknown }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="raw-entry" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{texts.history.details}</summary>
      {isOpen && <pre>{JSON.stringify(entry, undefined, 2)}</pre>}
    </details>
  );
}

type Fields = Readonly<Record<string, unknown>> | null;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

const labelOf = (name: string): string | undefined =>
  (texts.fields as Words)[name] ??
  (texts.form.switches as Readonly<Record<string, { label: string }>>)[name]?.label;

/** The differences between before and after, field by field, for the fields that have a label. */
function Changes({ before, after }: { readonly before: Fields; readonly after: Fields }) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  const changed = names.filter(
    name =>
      labelOf(name) !== undefined &&
      JSON.stringify(before?.[name]) !== JSON.stringify(after?.[name]) &&
      !(isNothing(before?.[name]) && isNothing(after?.[name])) &&
      // In a new record, `false` is the default, such as no password yet.
      !(before === null && after?.[name] === false),
  );
  if (changed.length === 0) return null;
  return (
    <ul class="changes">
      {changed.map(name => (
        <li key={name}>
          <span class="quiet">{labelOf(name)}</span>
          {before !== null && name in before && <del>{shown(name, before[name])}</del>}
          {after !== null && name in after && <ins>{shown(name, after[name])}</ins>}
        </li>
      ))}
    </ul>
  );
}

const isNothing = (value: unknown): boolean =>
  value === null || value === undefined || value === '' || (Array.isArray(value) && value.length === 0);

/** A risk signal as the server writes it, in its parts; of any other text, `signal` is all of it. */
export function signalIn(text: string): { signal: string; weight?: string; detail?: string } {
  const [, name, weight, detail] = /^(\w+) \((\+\d+)\): (.*)$/s.exec(text) ?? [];
  if (name === undefined || weight === undefined || detail === undefined) return { signal: text };
  return { signal: texts.queue.signals[name] ?? name, weight, detail };
}

const isRisk = (value: unknown): value is { score: number; reasons: readonly string[] } =>
  Array.isArray(fieldsOf(value)?.reasons);

/** Words for the values of some fields. */
const wordsOf = (name: string): Words | undefined =>
  ({
    status: texts.status,
    role: texts.roles,
    plan: texts.accounts.plans,
    category: texts.queue.categories,
    decision: texts.queue.decisions,
  })[name];

/** The names of times. */
const isTime = /(?:At|Until|From)$/;

function shown(name: string, value: unknown): string {
  if (isNothing(value)) return texts.history.nothing;
  if (typeof value === 'boolean') return value ? texts.history.yes : texts.history.no;
  if (typeof value === 'number' && isTime.test(name)) return formatMoment(value);
  if (typeof value === 'string') {
    if (isTime.test(name) && !Number.isNaN(Date.parse(value))) return formatMoment(value);
    return wordsOf(name)?.[value] ?? value;
  }
  if (isRisk(value))
    return [String(value.score), ...value.reasons.map(text => signalIn(text).signal)].join(' · ');
  if (typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return value.map(each => shown(name, each)).join(', ');
  return Object.values(value as Record<string, unknown>)
    .map(each => shown(name, each))
    .join(' · ');
}
