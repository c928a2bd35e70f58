/** The whole audit trail, page by page. */
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { type AuditEntry, readAudit } from '../api/moderation.ts';
import { messageOf } from '../api/problem.ts';
import type { Role } from '../api/types.ts';
import { AuditList } from '../moderation/audit-list.tsx';
import { useResource } from '../state/resource.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Select } from '../ui/select.tsx';
import { Empty, Loaded, Skeleton } from '../ui/states.tsx';
import { showToast } from '../ui/toast.tsx';

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
      const page = await readAudit(
        { subjectKind: kind, cursor: more.cursor ?? undefined },
        new AbortController().signal,
      );
      setMore({ entries: [...more.entries, ...page.entries], cursor: page.nextCursor });
    } catch (error) {
      showToast(messageOf(error), { isProblem: true });
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
