/** Past clicks, logged and counted the way the server does it, with the rhythm of days and weekends. */

import { join } from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import {
  type ClickBatch,
  humanKind,
  kindNumber,
  type LinkEntry,
  noVisitTraits,
  type Place,
  type VisitTraits,
} from '../../../src/clicks/click.ts';
import { createEmbeddedLog } from '../../../src/clicks/logs/embedded.ts';
import { agentSamples } from '../../../src/clicks/steps/agent-samples.ts';
import { openSqliteWarehouse } from '../../../src/clicks/warehouses/sqlite/warehouse.ts';
import { until } from '../../kit/until.ts';

export interface SeededLink extends LinkEntry {
  readonly daily: number;
  readonly fromMs: number;
}

export interface ClickSeed {
  readonly dataFolder: string;
  readonly links: readonly SeededLink[];
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether exports have them, too; takes as long again. */
  readonly isLogged?: boolean;
}

const dayMs = 24 * 60 * 60_000;
const batchMax = 8_000;
const botShare = 0.14;

const countries =
  'DE DE DE DE US US US GB GB FR FR NL ES ES IT PL AT CH SE BR BR IN IN JP CA AU MX PT DK SG ZA AR KR NO FI'.split(
    ' ',
  );
const regions = ['', '', 'North', 'South'];
const cities = ['', '', 'Springfield', 'Newtown', 'Oldtown'];
const places: readonly Place[] = countries.map((country, index) => ({
  country,
  region: regions[index % regions.length]!,
  city: cities[index % cities.length]!,
}));
const visits: readonly VisitTraits[] = [
  { language: 'de' },
  { language: 'en', utmSource: 'newsletter', utmMedium: 'email', utmCampaign: 'spring' },
  { language: 'en', via: 'qr' },
  { language: 'fr', utmSource: 'poster', utmMedium: 'print', utmCampaign: 'spring', utmContent: 'A3' },
  { language: '' },
].map(traits => ({ ...noVisitTraits, ...traits }));
const referrers = [
  '',
  '',
  '',
  'news.example',
  'mail.example',
  'search.example',
  'search.example',
  'social.example',
  'linkedin.com',
  'youtube.com',
  'duckduckgo.com',
].map((domain, index) => ({
  domain,
  referrer: domain === '' ? '' : `https://${domain}/${index % 2 === 0 ? '' : 'posts'}`,
}));
const agents = agentSamples.map(({ userAgent, browser, os, device, kind }) => ({
  userAgent,
  browser,
  os,
  device,
  kind,
}));
const people = agents.flatMap(({ kind }, index) => (kind === 'human' ? [index] : []));
const bots = agents.flatMap(({ kind }, index) => (kind === 'bot' ? [index] : []));

/** How busy a moment is, around 1. */
function rhythm(timeMs: number): number {
  const moment = new Date(timeMs);
  const hour = moment.getUTCHours() + moment.getUTCMinutes() / 60;
  const daily = 0.25 + 1.5 * Math.max(0, Math.sin(((hour - 5) / 19) * Math.PI)) ** 1.4;
  const isWeekend = moment.getUTCDay() === 0 || moment.getUTCDay() === 6;
  const season = 1 + 0.35 * Math.sin(timeMs / (11 * dayMs)) + 0.15 * Math.sin(timeMs / (3.1 * dayMs));
  return daily * season * (isWeekend ? 0.55 : 1.1);
}

export async function seedClicks({
  dataFolder,
  links,
  fromMs,
  toMs,
  isLogged = false,
}: ClickSeed): Promise<number> {
  const warehouse = openSqliteWarehouse(join(dataFolder, 'stats.db'));
  const random = seededRandom(20_261_015);
  let sequence = 1;
  let position = 0;
  let nowMs = fromMs;
  const log = createEmbeddedLog({
    folder: join(dataFolder, 'clicks'),
    producer: 'past',
    clock: { ...systemClock, now: () => nowMs },
  });
  const write = async (clicks: { at: number; link: number }[]): Promise<void> => {
    const batch = batchOf(
      clicks.toSorted((a, b) => a.at - b.at),
      links,
      sequence,
      random,
    );
    nowMs = batch.at.at(-1)!;
    const span = isLogged ? await log.append(batch) : { partition: 'past', from: position, to: position + 1 };
    const entry = { ...span, producer: 'past', batch };
    // The server that runs beside it may be merging clicks.
    await until('the lock of the warehouse', () =>
      warehouse.apply([entry]).then(
        () => true,
        error => {
          if (error.code !== 'SQLITE_BUSY') throw error;
          return false;
        },
      ),
    );
    position += 1;
    sequence += clicks.length;
  };
  let pending: { at: number; link: number }[] = [];
  const stepMs = 15 * 60_000;
  for (let startMs = fromMs; startMs < toMs; startMs += stepMs) {
    const lengthMs = Math.min(stepMs, toMs - startMs);
    for (const [link, { daily, fromMs: bornMs }] of links.entries()) {
      if (startMs < bornMs) continue;
      // New links are shared the most.
      const fresh = 0.5 + 1.6 * Math.exp(-(startMs - bornMs) / (9 * dayMs));
      const expected = (daily / (dayMs / lengthMs)) * rhythm(startMs) * fresh;
      const count = Math.floor(expected) + (random.float() < expected % 1 ? 1 : 0);
      for (let click = 0; click < count; click += 1) {
        pending.push({ at: startMs + Math.floor(random.float() * lengthMs), link });
      }
    }
    if (pending.length < batchMax) continue;
    await write(pending);
    pending = [];
  }
  if (pending.length > 0) await write(pending);
  await log.close();
  await warehouse.close();
  return sequence - 1;
}

function batchOf(
  clicks: readonly { at: number; link: number }[],
  links: readonly SeededLink[],
  firstSequence: number,
  random: { float(): number },
): ClickBatch {
  const pick = (length: number): number => Math.floor(random.float() ** 1.6 * length);
  const column = (valueFor: () => number): Uint32Array => Uint32Array.from(clicks, valueFor);
  const kind = Uint8Array.from(clicks, () => (random.float() < botShare ? kindNumber('bot') : humanKind));
  return {
    firstSequence,
    at: Float64Array.from(clicks, ({ at }) => at),
    kind,
    signal: new Uint8Array(clicks.length),
    visitorHigh: column(() => Math.imul(Math.floor(random.float() ** 2 * 700), 0x9e37_79b1) >>> 0),
    visitorLow: column(() => 0x51ed_270b),
    link: Uint32Array.from(clicks, ({ link }) => link),
    agent: Uint32Array.from(clicks, (_, index) => {
      const own = kind[index] === humanKind ? people : bots;
      return own[pick(own.length)]!;
    }),
    referrer: column(() => Math.floor(random.float() * referrers.length)),
    place: column(() => Math.floor(random.float() * places.length)),
    visit: column(() => pick(visits.length)),
    links: links.map(({ code, ownerId, tags }) => ({ code, ownerId, tags })),
    agents,
    referrers,
    places,
    visits,
  };
}
