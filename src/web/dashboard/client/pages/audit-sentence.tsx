/** An entry of the audit log as a sentence with names: “Anna invited Ben”. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import type { AuditEntry } from '../api/types.ts';
import { hrefOf } from '../state/router.ts';

/** Display names by the id of their account. */
export type Names = Readonly<Record<string, string>>;

interface AuditSentenceProps {
  readonly entry: AuditEntry;
  readonly names: Names;
}

/** The placeholders of a sentence are filled with elements, so that each language has its own word order. */
export function AuditSentence({ entry, names }: AuditSentenceProps) {
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
  // Of a key, only its own entry knows the name.
  const { name } = fieldsOf(entry.after) ?? fieldsOf(entry.before) ?? {};
  const known = kind === 'account' ? names[id] : undefined;
  return <bdi class="audit-name">{known ?? (typeof name === 'string' ? name : id)}</bdi>;
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
