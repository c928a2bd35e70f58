/** What was done to a link, by whom and why: its own changes and what moderation decided. */
import { texts } from '../../texts.ts';
import { request } from '../api/request.ts';
import type { HistoryEntry, LinkView } from '../api/types.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { useResource } from '../state/resource.ts';
import { Changes } from '../ui/changes.tsx';
import { Loaded } from '../ui/states.tsx';

const readHistory = (code: string, signal: AbortSignal): Promise<{ entries: readonly HistoryEntry[] }> =>
  request('GET', `/api/v1/links/${encodeURIComponent(code)}/history`, { signal });

export function LinkHistory({ link }: { readonly link: LinkView }) {
  // Every change of the link moves its time of change, and so reads the history anew.
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
              <HistoryRow key={index} entry={entry} />
            ))}
          </ol>
        )}
      </Loaded>
    </section>
  );
}

function HistoryRow({ entry }: { readonly entry: HistoryEntry }) {
  return (
    <li>
      <p>
        <strong>{texts.history.actions[entry.action] ?? entry.action}</strong>{' '}
        <span class="quiet">
          {texts.history.by[entry.by] ?? entry.by} ·{' '}
          <time title={formatMoment(entry.at)}>{formatAgo(entry.at)}</time>
        </span>
      </p>
      {entry.reason !== null && <p class="history-reason">{entry.reason}</p>}
      <Changes before={entry.before} after={entry.after} />
    </li>
  );
}
