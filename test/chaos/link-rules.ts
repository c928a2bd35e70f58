/**
 * What clients may see of links: the creates and changes of each link that may have taken effect, and the rules for
 * each answer. A write with an unknown outcome may take effect at any time after it began, until the link is deleted.
 */
import type { Change, Create, Visit } from './history.ts';
import type { Reachability } from './reachability.ts';
import type { Objection } from './violation.ts';

/** Expiry is checked to the second. */
const expirySlackMs = 1_000;

export interface Write {
  readonly value: string;
  readonly startMs: number;
  /** Infinite when the outcome is unknown. */
  readonly endMs: number;
  readonly isOk: boolean;
  readonly process: number;
}

export interface Link {
  readonly creates: Create[];
  readonly destinations: Write[];
  /** Whether it is active or disabled, and the deletion. */
  readonly states: Write[];
  readonly visits: Visit[];
}

/** A claim of an alias that certainly belongs to another owner cannot have succeeded, whatever its answer was. */
export function linksOf(
  creates: readonly Create[],
  changes: readonly Change[],
  visits: readonly Visit[],
): Map<string, Link> {
  const links = new Map<string, Link>();
  const linkOf = (code: string): Link => {
    const link = links.get(code) ?? { creates: [], destinations: [], states: [], visits: [] };
    links.set(code, link);
    return link;
  };
  for (const create of creates) {
    const code = create.code ?? create.alias;
    if (code !== undefined && create.outcome !== 'failed') linkOf(code).creates.push(create);
  }
  for (const link of links.values()) {
    const certain = link.creates.filter(({ status }) => status === 201);
    // A 200 found the link of an earlier claim, whose answer was lost.
    const found = link.creates.find(({ status }) => status === 200);
    const possible = link.creates.filter(
      ({ status, owner }) => status !== 200 && (found === undefined || owner === found.owner),
    );
    const makers = [certain, possible, link.creates].find(some => some.length > 0)!;
    for (const create of makers) {
      link.destinations.push(writeOf(create, create.longUrl));
      link.states.push(writeOf(create, 'active'));
    }
  }
  for (const change of changes) {
    const { states, destinations } = linkOf(change.code);
    if (change.outcome === 'failed') continue;
    if (change.kind === 'edit') destinations.push(writeOf(change, change.longUrl!));
    else states.push(writeOf(change, stateAfter[change.kind]));
  }
  for (const visit of visits) linkOf(visit.code).visits.push(visit);
  return links;
}

const stateAfter = { enable: 'active', disable: 'disabled', delete: 'deleted' } as const;

const writeOf = ({ startMs, endMs, outcome, process }: Create | Change, value: string): Write => ({
  value,
  startMs,
  endMs: outcome === 'ok' ? endMs : Number.POSITIVE_INFINITY,
  isOk: outcome === 'ok',
  process,
});

export function checkCreates(creates: readonly Create[], object: Objection): void {
  const acknowledged = creates.filter(({ status }) => status === 201);
  for (const [code, some] of Map.groupBy(acknowledged, ({ code }) => code!)) {
    const isClaim = some.some(({ alias }) => alias !== undefined);
    if (some.length > 1)
      object(
        isClaim ? 'alias-owners' : 'code-twice',
        some[1]!,
        `${code} was created ${some.length} times: ${some.map(({ longUrl }) => longUrl).join(', ')}`,
      );
  }
  for (const [alias, claims] of Map.groupBy(
    creates.filter(({ alias }) => alias !== undefined),
    ({ alias }) => alias!,
  )) {
    for (const repeat of claims.filter(({ status }) => status === 200)) {
      const isRepeat = claims.some(
        claim =>
          claim !== repeat &&
          claim.outcome !== 'failed' &&
          claim.owner === repeat.owner &&
          claim.longUrl === repeat.longUrl &&
          claim.startMs < repeat.endMs,
      );
      if (!isRepeat)
        object('alias-owners', repeat, `${alias}: 200 without an earlier claim of the same link`);
    }
    if (claims.every(({ outcome }) => outcome === 'failed') && claims.some(({ status }) => status === 409))
      object('alias-owners', claims[0]!, `${alias} is taken although no claim succeeded`);
  }
  for (const create of creates) {
    const { status = 503, alias, expiresAtMs } = create;
    const expected = [
      201,
      ...(alias === undefined ? [] : [200, 409]),
      ...(expiresAtMs === undefined ? [] : [400]),
    ];
    // A process whose clock is ahead may see the expiry in the past. Statuses from 500 on are judged elsewhere.
    if (status < 500 && !expected.includes(status))
      object('unexpected-answer', create, `create at process ${create.process}: ${status}`);
  }
}

export function checkLink(code: string, link: Link, object: Objection): void {
  const { creates, visits } = link;
  const create = creates.find(({ outcome }) => outcome === 'ok');
  if (create === undefined) return;
  if (!visits.some(({ kind, status = 503 }) => kind === 'final' && status !== 503))
    object('lost-link', create, `${code} was not followed at the end`);
  const followed = visits.filter(({ location }) => location !== undefined).length;
  if (create.maxClicks !== undefined && followed > create.maxClicks)
    object('click-limit', create, `${code} was followed ${followed} times, not ${create.maxClicks}`);
}

export function checkVisit(
  code: string,
  link: Link,
  visit: Visit,
  wallMs: number,
  reachability: Reachability,
  obeyed: Map<Write, number>,
  object: Objection,
): void {
  const { status, location, process, startMs, endMs } = visit;
  if (visit.outcome === 'unknown' || status === 503) return;
  const at = `${code} at process ${process}`;
  const acknowledged = link.creates.find(create => create.outcome === 'ok' && create.endMs <= startMs);
  /** Why none of these writes explains what the visitor saw; undefined if one does. */
  const whyNot = (
    writes: readonly Write[],
    value: string,
    superseding: readonly Write[],
  ): string | undefined => {
    const candidates = writes.filter(write => write.value === value && write.startMs <= endMs);
    if (candidates.length === 0) return 'never';
    const after = candidates.map(write =>
      superseding.filter(
        each => each.isOk && each.value !== value && each.startMs > write.endMs && each.endMs < startMs,
      ),
    );
    if (after.some(each => each.length === 0)) return undefined;
    const first = after.flat().reduce((one, other) => (one.endMs < other.endMs ? one : other));
    obeyed.set(first, Math.max(obeyed.get(first) ?? 0, startMs - first.endMs));
    const mayBe = (each: Write): boolean =>
      reachability.mayBeStale(process, each.process, each.endMs, startMs);
    if (after.some(each => each.every(mayBe))) return undefined;
    return `${((startMs - first.endMs) / 1_000).toFixed(1)} s after it was changed by process ${first.process}`;
  };
  const skew = reachability.skew(process, startMs, endMs);
  const expiresAtMs = link.creates.find(({ outcome }) => outcome === 'ok')?.expiresAtMs;

  if (status === 302 && location !== undefined) {
    const wrongPlace = whyNot(link.destinations, location, link.destinations);
    if (wrongPlace === 'never') object('foreign-destination', visit, `${at} led to ${location}`);
    else if (wrongPlace !== undefined)
      object('stale-redirect', visit, `${at} led to ${location} ${wrongPlace}`);
    const wrongState = wrongPlace === 'never' ? undefined : whyNot(link.states, 'active', link.states);
    if (wrongState !== undefined) object('stale-redirect', visit, `${at} was followed ${wrongState}`);
    // Nothing brings a deleted link back, also not a change whose outcome is unknown.
    const deleted = link.states.find(({ value, isOk }) => value === 'deleted' && isOk);
    if (
      wrongState === undefined &&
      deleted !== undefined &&
      !reachability.mayBeStale(process, deleted.process, deleted.endMs, startMs)
    )
      object('stale-redirect', visit, `${at} was followed after it was deleted`);
    if (expiresAtMs !== undefined && wallMs + startMs + skew[0] > expiresAtMs + expirySlackMs)
      object(
        'expired-redirect',
        visit,
        `${at}: ${((wallMs + startMs - expiresAtMs) / 1_000).toFixed(1)} s late`,
      );
    return;
  }
  if (status === 404) {
    if (acknowledged !== undefined) object('lost-link', visit, `${at}: 404 for an acknowledged link`);
    return;
  }
  if (status !== 410) {
    if ((status ?? 0) < 500) object('unexpected-answer', visit, `${at}: ${status}`);
    return;
  }
  const isExplained =
    visit.reason === 'link_expired'
      ? expiresAtMs !== undefined && wallMs + endMs + skew[1] >= expiresAtMs
      : visit.reason === 'link_exhausted'
        ? mayBeExhausted(link, visit)
        : visit.reason === 'link_disabled'
          ? whyNot(link.states, 'disabled', link.states) === undefined
          : whyNot(link.states, 'deleted', []) === undefined;
  if (!isExplained) object('wrong-refusal', visit, `${at}: 410 ${visit.reason}`);
}

/** Whether the limit may be used up. A visit without an answer, or with a 503, may have used a click. */
function mayBeExhausted({ creates, visits }: Link, refused: Visit): boolean {
  const mayUse = visits.filter(
    ({ location, outcome, status, startMs }) =>
      startMs <= refused.endMs && (location !== undefined || outcome === 'unknown' || status === 503),
  ).length;
  return creates.some(({ maxClicks }) => maxClicks !== undefined && maxClicks <= mayUse);
}

export function checkChange(change: Change, link: Link, object: Objection): void {
  const { status, startMs, endMs, code } = change;
  if (status === undefined || status < 300 || status >= 500) return;
  const isThere = link.creates.some(create => create.outcome === 'ok' && create.endMs <= startMs);
  const isDeleted = link.states.some(state => state.value === 'deleted' && state.startMs <= endMs);
  if (status === 404 && isThere) object('lost-link', change, `${change.kind} of ${code}: 404`);
  else if (status === 410 && !isDeleted) object('wrong-refusal', change, `${change.kind} of ${code}: 410`);
  else if (![404, 409, 410].includes(status))
    object('unexpected-answer', change, `${change.kind} of ${code}: ${status}`);
}
