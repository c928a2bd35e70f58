/** Single clicks of the range that pass the filters, the newest first. */
import { useEffect, useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { readRecent } from '../api/calls.ts';
import { messageOf } from '../api/request.ts';
import type { RecentClick, RecentClicks } from '../api/types.ts';
import { countryName, formatIn } from '../format.ts';
import { useResource } from '../state/connection.ts';
import { hrefOf } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Skeleton } from '../ui/page.tsx';
import { filterQuery } from './filters.ts';
import type { ShownStats } from './use-stats.ts';

const pageLimit = 8;
const olderLimit = 50;

/** It is read together with the numbers, so that it is of the same clicks. */
export function ClickLog({ shown }: { readonly shown: ShownStats }) {
  const { choice, askedAtMs } = shown;
  const { of, range, timeZone, filters } = choice;
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    ...filterQuery(filters),
  };
  const key = JSON.stringify([of.code, of.tag, query]);
  const newest = useResource(`${key} ${askedAtMs}`, async signal => ({
    key,
    page: await readRecent(of, { ...query, limit: pageLimit }, signal),
  }));
  const [older, setOlder] = useState<RecentClicks>();
  const [problem, setProblem] = useState<unknown>();
  useEffect(() => setOlder(undefined), [key]);
  // Once older clicks are shown the list stays as it is, so that it does not move while it is read.
  const log = older ?? newest.value?.page;
  const failure = problem ?? (log === undefined ? newest.problem : undefined);
  const more = (): void => {
    if (log === undefined || log.nextCursor === null) return;
    readRecent(of, { ...query, limit: olderLimit, cursor: log.nextCursor }).then(next => {
      setOlder({ ...next, clicks: [...log.clicks, ...next.clicks] });
      setProblem(undefined);
    }, setProblem);
  };
  return (
    <section
      class="card log"
      aria-label={texts.log.title}
      aria-busy={newest.value?.key !== key && newest.problem === undefined}
    >
      <h2>{texts.log.title}</h2>
      {failure !== undefined && (
        <p class="notice" role="alert">
          {messageOf(failure)}
        </p>
      )}
      {log === undefined && failure === undefined && <Skeleton lines={6} />}
      {log?.clicks.length === 0 && <p class="quiet">{texts.log.none}</p>}
      {log !== undefined && log.clicks.length > 0 && (
        <table class="log-table">
          <thead>
            <tr>
              <th>{texts.log.time}</th>
              {of.code === undefined && <th>{texts.log.link}</th>}
              <th>{texts.log.place}</th>
              <th>{texts.log.technology}</th>
              <th>{texts.log.source}</th>
            </tr>
          </thead>
          <tbody>
            {log.clicks.map((click, index) => (
              <ClickRow
                key={`${click.at} ${index}`}
                click={click}
                timeZone={timeZone}
                showsLink={of.code === undefined}
              />
            ))}
          </tbody>
        </table>
      )}
      {log?.coveredFrom != null && (
        <p class="quiet">{texts.log.keptFrom(formatIn('moment', log.coveredFrom, timeZone))}</p>
      )}
      {log !== undefined && log.nextCursor !== null && (
        <Button kind="quiet" small class="show-all" onClick={more}>
          {texts.log.older}
        </Button>
      )}
    </section>
  );
}

/** The place of a click, as a text. */
export function placeOf({ city, country }: Pick<RecentClick, 'city' | 'country'>): string {
  const place = [city, countryName(country)].filter(text => text !== undefined && text !== '').join(', ');
  return place === '' ? texts.stats.unknownPlace : place;
}

export const technologyOf = ({ browser, os }: Pick<RecentClick, 'browser' | 'os'>): string =>
  [browser, os].filter(text => text !== '').join(' · ');

export function ClickBadges({
  kind,
  signal,
  via,
}: Pick<RecentClick, 'via'> & { kind: string; signal: string }) {
  return (
    <>
      {via === 'qr' && <span class="badge">{texts.log.qr}</span>}
      {kind !== 'human' && <span class="badge badge-bot">{texts.live.bot}</span>}
      {signal !== 'none' && <span class="badge badge-bot">{texts.live.suspicious}</span>}
    </>
  );
}

interface ClickRowProps {
  readonly click: RecentClick;
  readonly timeZone: string;
  readonly showsLink: boolean;
}

function ClickRow({ click, timeZone, showsLink }: ClickRowProps) {
  return (
    <tr>
      <td>
        <time dateTime={click.at}>{formatIn('shortMoment', click.at, timeZone)}</time>
      </td>
      {showsLink && (
        <td>
          <a href={hrefOf(`/links/${click.shortCode}`)}>{click.shortCode}</a>
        </td>
      )}
      <td>{placeOf(click)}</td>
      <td class="quiet">{technologyOf(click)}</td>
      <td class="quiet">
        <bdi>{click.referrer === '' ? texts.stats.direct : click.referrer}</bdi> <ClickBadges {...click} />
      </td>
    </tr>
  );
}
