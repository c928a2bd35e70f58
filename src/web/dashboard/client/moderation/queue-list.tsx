/** What waits, the most pressing first. */
import { texts } from '../../texts.ts';
import type { QueueEntry } from '../api/moderation.ts';
import { formatAgo, hostOf } from '../format.ts';
import { StatusBadge } from '../links/status-badge.tsx';

export interface QueueListProps {
  readonly entries: readonly QueueEntry[];
  readonly chosen: string | undefined;
  readonly onChoose: (code: string) => void;
}

export function QueueList({ entries, chosen, onChoose }: QueueListProps) {
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

/** From 0 to 100, in words for those who do not see the colour. */
export function Score({ value }: { readonly value: number }) {
  const level = value > 85 ? 'high' : value > 60 ? 'raised' : 'low';
  return (
    <span class={`score score-${level}`}>
      <span class="visually-hidden">{texts.queue.score}</span>
      {value}
    </span>
  );
}
