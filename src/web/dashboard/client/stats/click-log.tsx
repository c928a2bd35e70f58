/** Single clicks of the range that pass the filters, the newest first. */
import { texts } from '../../texts.ts';
import { readRecent } from '../api/calls.ts';
import type { RecentClick } from '../api/types.ts';
import { countryName, formatIn } from '../format.ts';
import { usePages } from '../state/connection.ts';
import { hrefOf } from '../state/router.ts';
import { ProblemNotice } from '../ui/field.tsx';
import { MorePages, Skeleton } from '../ui/page.tsx';
import { filterQuery } from './filters.ts';
import type { ShownStats } from './use-stats.ts';

const pageLimit = 8;
const olderLimit = 50;

/** Read together with the numbers, so that both are of the same clicks. */
export function ClickLog({ shown }: { readonly shown: ShownStats }) {
  const { choice, askedAtMs, key } = shown;
  const { of, range, timeZone, filters } = choice;
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    ...filterQuery(filters),
  };
  const pages = usePages(
    // The user's choice, not the range: the end of a range in progress keeps moving.
    key,
    (cursor, signal) =>
      readRecent(of, { ...query, limit: cursor === undefined ? pageLimit : olderLimit, cursor }, signal),
    (before, next) => ({ ...next, clicks: [...before.clicks, ...next.clicks] }),
    askedAtMs,
  );
  const { value: log, problem, isCurrent } = pages;
  return (
    <section
      class="card log"
      aria-label={texts.log.title}
      aria-busy={!isCurrent && problem === undefined}
      data-stale={log !== undefined && !isCurrent}
    >
      <h2>{texts.log.title}</h2>
      <ProblemNotice problem={problem} />
      {log === undefined && problem === undefined && <Skeleton lines={6} />}
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
      <MorePages pages={pages} label={texts.log.older} isQuiet />
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

/** Shown before the place, because the ends of long names are cut off. */
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
      <td>
        <ClickBadges {...click} /> {placeOf(click)}
      </td>
      <td class="quiet">{technologyOf(click)}</td>
      <td class="quiet">
        <bdi>{click.referrer === '' ? texts.stats.direct : click.referrer}</bdi>
      </td>
    </tr>
  );
}
