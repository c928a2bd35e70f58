/** The moderators' desk: the queue on one side, the case on the other, and one key per decision. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { type Case, type Decision, decide, type QueueEntry, readCase, readQueue } from '../api/moderation.ts';
import { messageOf } from '../api/problem.ts';
import { formatNumber } from '../format.ts';
import { CaseView, decisionKeys } from '../moderation/case-view.tsx';
import { QueueList } from '../moderation/queue-list.tsx';
import { useResource } from '../state/resource.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { onKeys } from '../state/shortcuts.ts';
import { Segments } from '../ui/field.tsx';
import { PageHeader } from '../ui/page-header.tsx';
import { Empty, Loaded, Skeleton } from '../ui/states.tsx';
import { showToast } from '../ui/toast.tsx';

const filters = ['all', 'reported', 'appeals'] as const;
type Filter = (typeof filters)[number];
const refreshMs = 15_000;

const passes: Readonly<Record<Filter, (entry: QueueEntry) => boolean>> = {
  all: () => true,
  reported: ({ review }) => review.reporters > 0,
  appeals: ({ review }) => review.appeal !== null,
};

export function QueuePage() {
  const { query } = usePlace();
  const queue = useResource('queue', readQueue);
  const { reload } = queue;
  useEffect(() => browserClock.every(refreshMs, reload), [reload]);
  const filter = filters.find(name => name === query.get('filter')) ?? 'all';
  const entries = (queue.value?.entries ?? []).filter(passes[filter]);
  const chosen = query.get('link') ?? entries[0]?.link.shortCode;
  const choose = (code: string | undefined): void => setQuery({ link: code });

  const step = (by: number): void => {
    const at = entries.findIndex(({ link }) => link.shortCode === chosen);
    const next = entries[Math.max(0, Math.min(entries.length - 1, at + by))];
    if (next !== undefined) choose(next.link.shortCode);
  };
  useEffect(() => onKeys({ j: () => step(1), k: () => step(-1) }));

  /** The next one is ready before the answer is read. */
  const onDecided = (code: string): void => {
    const at = entries.findIndex(({ link }) => link.shortCode === code);
    const next = entries[at + 1] ?? entries[at - 1];
    if (queue.value !== undefined) {
      const left = queue.value.entries.filter(({ link }) => link.shortCode !== code);
      queue.replace({ ...queue.value, entries: left, waiting: Math.max(0, queue.value.waiting - 1) });
    }
    choose(next?.link.shortCode);
    reload();
  };
  return (
    <>
      <PageHeader
        title={texts.queue.title}
        note={
          queue.value === undefined ? texts.loading : texts.queue.count(formatNumber(queue.value.waiting))
        }
      >
        <Segments
          label={texts.queue.filter}
          value={filter}
          choices={filters.map(value => ({ value, label: texts.queue.filters[value] }))}
          onValue={value => setQuery({ filter: value === 'all' ? undefined : value, link: undefined })}
        />
      </PageHeader>
      <Loaded resource={queue} skeleton={<Skeleton lines={6} tall />}>
        {() =>
          entries.length === 0 && query.get('link') === null ? (
            <Empty icon="shield" title={texts.queue.none} text={texts.queue.noneText} />
          ) : (
            <div class="desk">
              <QueueList entries={entries} chosen={chosen} onChoose={choose} />
              {chosen !== undefined && <ChosenCase key={chosen} code={chosen} onDecided={onDecided} />}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function ChosenCase({
  code,
  onDecided,
}: {
  readonly code: string;
  readonly onDecided: (code: string) => void;
}) {
  const resource = useResource(code, signal => readCase(code, signal));
  const [reason, setReason] = useState('');
  const [isBusy, setBusy] = useState(false);
  const take = async (decision: Decision, shown: Case): Promise<void> => {
    setBusy(true);
    try {
      await decide(
        shown.link,
        decision,
        reason.trim() === '' ? texts.queue.defaultReasons[decision] : reason.trim(),
      );
      showToast(texts.queue.decided(code, texts.queue.outcomes[decision]));
      onDecided(code);
    } catch (error) {
      showToast(messageOf(error), { isProblem: true });
      resource.reload();
    }
    setBusy(false);
  };
  useEffect(() =>
    onKeys(
      Object.fromEntries(
        (Object.keys(decisionKeys) as Decision[]).map(decision => [
          decisionKeys[decision],
          () => {
            if (resource.value !== undefined && !isBusy) void take(decision, resource.value);
          },
        ]),
      ),
    ),
  );
  return (
    <Loaded resource={resource}>
      {shown => (
        <CaseView
          shown={shown}
          reason={reason}
          onReason={setReason}
          isBusy={isBusy}
          onDecide={decision => void take(decision, shown)}
          onCase={resource.replace}
        />
      )}
    </Loaded>
  );
}
