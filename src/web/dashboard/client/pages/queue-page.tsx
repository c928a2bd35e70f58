/** The moderators' page: the queue on one side, the case on the other, and one key per decision. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { decide, readCase, readQueue } from '../api/calls.ts';
import type { Case, Decision, QueueEntry } from '../api/types.ts';
import { formatAgo, hostOf } from '../format.ts';
import { StatusBadge } from '../links/link-details.tsx';
import { usePages, useRefresh, useResource } from '../state/connection.ts';
import { goTo, onKeys, setQuery, usePlace } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Segments } from '../ui/field.tsx';
import { Empty, Loaded, MorePages, PageHeader, Skeleton } from '../ui/page.tsx';
import { showProblem, showToast, showUndo } from '../ui/toast.tsx';
import { CaseView, decisionKeys } from './case-view.tsx';

const filters = ['all', 'reported', 'appeals'] as const;
type Filter = (typeof filters)[number];
const refreshMs = 15_000;
/** The same limit as in the style sheet. */
const small = matchMedia('(max-width: 62rem)');

function useIsSmall(): boolean {
  const [isSmall, setSmall] = useState(small.matches);
  useEffect(() => {
    const update = (): void => setSmall(small.matches);
    small.addEventListener('change', update);
    return () => small.removeEventListener('change', update);
  }, []);
  return isSmall;
}

const passes: Readonly<Record<Filter, (entry: QueueEntry) => boolean>> = {
  all: () => true,
  reported: ({ review }) => review.reporters > 0,
  appeals: ({ review }) => review.appeal !== null,
};

export function QueuePage() {
  const { query } = usePlace();
  const queue = usePages('queue', readQueue, (before, next) => {
    // The queue changes between pages, so a case may appear again.
    const known = new Set(before.entries.map(({ link }) => link.shortCode));
    return {
      ...next,
      entries: [...before.entries, ...next.entries.filter(({ link }) => !known.has(link.shortCode))],
    };
  });
  useRefresh(queue.refresh, refreshMs);
  const isSmall = useIsSmall();
  const filter = filters.find(name => name === query.get('filter')) ?? 'all';
  const entries = (queue.value?.entries ?? []).filter(passes[filter]);
  const asked = query.get('link') ?? undefined;
  const isOpen = asked !== undefined;
  // Beside the list there is room for the first case; on a small screen a case takes the place of the list.
  const first = isSmall ? undefined : entries[0]?.link.shortCode;
  const chosen = asked ?? first;
  // Keeps this case open when others enter the queue before it.
  useEffect(() => {
    if (!isOpen && first !== undefined) setQuery({ link: first });
  }, [isOpen, first]);
  const choose = (code: string | undefined): void => {
    // On a small screen, Back leads from the case to the list.
    setQuery({ link: code }, { isStep: isSmall && code !== undefined && !isOpen });
    if (isSmall) scrollTo(0, 0);
  };

  const step = (by: number): void => {
    const at = entries.findIndex(({ link }) => link.shortCode === chosen);
    const next = entries[Math.max(0, Math.min(entries.length - 1, at + by))];
    if (next !== undefined) choose(next.link.shortCode);
  };
  // Beside the list there is always an open case, and its reason must not be lost.
  const close = (): void => {
    if (isSmall) choose(undefined);
  };
  useEffect(() => onKeys({ j: () => step(1), k: () => step(-1), Escape: close }));

  const onDecided = (code: string): void => {
    const at = entries.findIndex(({ link }) => link.shortCode === code);
    const next = entries[at + 1] ?? entries[at - 1];
    const left = queue.value?.entries.filter(({ link }) => link.shortCode !== code) ?? [];
    if (queue.value !== undefined)
      queue.replace({ ...queue.value, entries: left, waiting: Math.max(0, queue.value.waiting - 1) });
    // A user who has moved on to another case stays there.
    if (chosen === code) choose(next?.link.shortCode);
    if (left.length === 0) queue.reload();
    else queue.refresh();
  };
  // When a decision is answered, more cases may be loaded or another one open, so the latest callback is called.
  const latestDecided = useRef<((code: string) => void) | undefined>(onDecided);
  useEffect(() => {
    latestDecided.current = onDecided;
    return () => {
      latestDecided.current = undefined;
    };
  });
  return (
    <>
      <PageHeader
        title={texts.queue.title}
        note={queue.value === undefined ? texts.loading : texts.queue.count(queue.value.waiting)}
        isLive
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
          entries.length === 0 && !isOpen ? (
            <NoCases filter={filter}>
              <MorePages pages={queue} label={texts.queue.more} />
            </NoCases>
          ) : (
            <div class={isOpen ? 'desk desk-open' : 'desk'}>
              <div class="queue-column">
                <QueueList entries={entries} chosen={chosen} onChoose={choose} />
                <MorePages pages={queue} label={texts.queue.more} />
              </div>
              <Button class="desk-back" icon="left" onClick={() => choose(undefined)}>
                {texts.queue.back}
              </Button>
              {chosen !== undefined && (
                <ChosenCase key={chosen} code={chosen} onDecided={code => latestDecided.current?.(code)} />
              )}
            </div>
          )
        }
      </Loaded>
    </>
  );
}

function NoCases({ filter, children }: { readonly filter: Filter; readonly children: ComponentChildren }) {
  if (filter === 'all') return <Empty icon="shield" title={texts.queue.none} text={texts.queue.noneText} />;
  return (
    <Empty icon="search" title={texts.queue.noneFiltered}>
      {children}
    </Empty>
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
      const decided = await decide(
        shown.link,
        decision,
        reason.trim() === '' ? texts.queue.defaultReasons[decision] : reason.trim(),
      );
      const outcome = texts.queue.decided(code, texts.queue.outcomes[decision]);
      // A decision that does not change the status cannot be undone: it closes the case, and no call reopens one.
      if (decided.link.status === shown.link.status) showToast(outcome);
      else showUndo(outcome, () => void undo(shown, decided));
      onDecided(code);
    } catch (error) {
      showProblem(error);
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

const decisionsTo: Readonly<Record<string, Decision>> = { quarantined: 'quarantine', blocked: 'block' };

/**
 * Gives the link its previous status, and shows the case again: the decision stays in its history. Allowing it
 * restores whatever it was before it was held, such as disabled.
 */
async function undo(before: Case, after: Case): Promise<void> {
  const { shortCode, status } = before.link;
  try {
    await decide(after.link, decisionsTo[status] ?? 'allow', texts.manage.undoReason);
    showToast(texts.manage.decisionUndone(shortCode));
    goTo(`/moderation?link=${shortCode}`);
  } catch (error) {
    showProblem(error);
  }
}

interface QueueListProps {
  readonly entries: readonly QueueEntry[];
  readonly chosen: string | undefined;
  readonly onChoose: (code: string) => void;
}

/** The moderation queue, the most urgent first. */
function QueueList({ entries, chosen, onChoose }: QueueListProps) {
  return (
    <ul class="queue-list" aria-label={texts.queue.title}>
      {entries.map(({ link, review }) => (
        <li key={link.shortCode}>
          <button
            type="button"
            class="queue-item"
            aria-current={link.shortCode === chosen ? 'true' : undefined}
            onClick={() => onChoose(link.shortCode)}
          >
            <Score value={review.score} />
            <span class="queue-text">
              <strong>
                <bdi>{hostOf(link.longUrl)}</bdi>
              </strong>
              <span class="quiet">
                /{link.shortCode} ·{' '}
                {review.waitingSince !== null && texts.queue.waiting(formatAgo(review.waitingSince))}
              </span>
            </span>
            <span class="queue-marks">
              {review.overdue && <span class="badge badge-blocked">{texts.queue.overdue}</span>}
              {review.appeal !== null && <span class="badge badge-expired">{texts.queue.appeal}</span>}
              {review.reporters > 0 && (
                <span class="badge badge-quarantined">{texts.queue.reporters(review.reporters)}</span>
              )}
              {link.status !== 'active' && <StatusBadge status={link.status} />}
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The thresholds of the automatic checks: what is above them is held, or stopped. */
const levels = [
  { above: 85, level: 'high', decision: 'block' },
  { above: 60, level: 'raised', decision: 'quarantine' },
  { above: -1, level: 'low', decision: 'allow' },
] as const satisfies readonly { above: number; level: string; decision: Decision }[];

export const levelOf = (score: number) => levels.find(({ above }) => score > above) ?? levels[2];

/** From 0 to 100, with text for users who do not see the colour. */
export function Score({ value }: { readonly value: number }) {
  return (
    <span class={`score score-${levelOf(value).level}`}>
      <span class="visually-hidden">{texts.queue.score}</span>
      {value}
    </span>
  );
}
