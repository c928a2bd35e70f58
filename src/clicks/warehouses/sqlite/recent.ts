/** The newest single clicks, from runs: day by day backwards, until there are enough. Synchronous, like answers. */
import { clickSignals, visitKinds } from '../../click.ts';
import { type ClickValues, dimensionNames, type ShownClick } from '../../dimensions.ts';
import { compareShown, grainMs, type RecentClicks, type RecentQuestion } from '../../warehouse.ts';
import { fieldsOf, kindIn, listDimensions, signalIn } from './chunk.ts';
import { type AnswerSources, rolledOffUntil } from './read.ts';
import { liveRuns } from './runs.ts';
import { ScopeReader, type SelectedClicks } from './scope-reader.ts';
import { DayMinutes, Tally } from './tally.ts';

const listed = ['agent', 'referrer', 'place', 'visit'] as const;
/** Every dimension, so that all lists of a chunk are read. */
const breakdowns = dimensionNames.map(dimension => ({ dimension, offset: 0, limit: 0, search: '' }));

export function recentClicks(
  { database, legacy, forgottenBefore }: AnswerSources,
  { scopes, from, to, filters, skip, limit }: RecentQuestion,
): RecentClicks {
  const firstDay = Math.floor(from / grainMs.day) * grainMs.day;
  const runs = liveRuns(database, firstDay, to);
  const covered = Math.max(legacy.missingUntil(firstDay, to), rolledOffUntil(runs));
  const range = { from: Math.max(from, covered), to };
  const question = { ...range, scopes, filters, starts: [], breakdowns };
  const readers = scopes.map(scope => new ScopeReader(database, scope, question, new Tally(question)));
  const newest = new Newest(skip + limit);
  const marks = new Map<string, number>();
  const markOf = (code: string): number => {
    const mark = marks.get(code) ?? forgottenBefore(code);
    marks.set(code, mark);
    return mark;
  };
  const wholeMinutes = { from: Math.floor(range.from / grainMs.minute) * grainMs.minute, to };
  for (const [day, ofDay] of [...Map.groupBy(runs, run => run.day)].toReversed()) {
    if (newest.leastAt >= day + grainMs.day) break;
    const minutes = new DayMinutes(day, wholeMinutes, []);
    if (minutes.isEmpty) continue;
    for (const run of ofDay.filter(({ singles }) => singles === 1))
      for (const reader of readers)
        for (const found of reader.clicksIn(run, minutes.buckets, Math.max(0, range.from - day)))
          addNewest(newest, found, day, to, markOf);
  }
  return { clicks: newest.all().slice(skip, skip + limit), coveredFrom: covered > from ? covered : 0 };
}

function addNewest(
  newest: Newest,
  { chunk, rows: { links }, selected }: SelectedClicks,
  day: number,
  to: number,
  markOf: (code: string) => number,
): void {
  let link = links.codes.length - 1;
  // Clicks of a link are in the order of time, and the newest show soonest which others are not wanted.
  for (let place = selected.length - 1; place >= 0; place -= 1) {
    const index = selected[place]!;
    while (index < links.starts[link]!) link -= 1;
    const at = day + chunk.at[index]!;
    if (at >= to || at < newest.leastAt) continue;
    const code = links.codes[link]!;
    if (at < markOf(code)) continue;
    const byte = chunk.kind[index]!;
    const values = listed.flatMap(list => {
      const fields = fieldsOf(chunk.lists[list][chunk.codes[list][index]!]!);
      return listDimensions[list].map(({ name }, place) => [name, fields[place] ?? '']);
    });
    const kind = visitKinds[kindIn(byte)]!;
    newest.add({
      code,
      at,
      kind,
      signal: clickSignals[signalIn(byte)]!,
      ...(Object.fromEntries(values) as Omit<ClickValues, 'bot'>),
      bot: kind === 'human' ? '' : kind,
    });
  }
}

/** The first of many, by `compareShown`; holds a few times as many as are wanted. */
class Newest {
  readonly #wanted: number;
  #held: ShownClick[] = [];
  /** Older clicks are not wanted any more. */
  leastAt = Number.NEGATIVE_INFINITY;

  constructor(wanted: number) {
    this.#wanted = wanted;
  }

  add(click: ShownClick): void {
    this.#held.push(click);
    if (this.#held.length >= 4 * this.#wanted + 100) this.all();
  }

  all(): readonly ShownClick[] {
    this.#held = this.#held.sort(compareShown).slice(0, this.#wanted);
    if (this.#held.length === this.#wanted) this.leastAt = this.#held.at(-1)?.at ?? Infinity;
    return this.#held;
  }
}
