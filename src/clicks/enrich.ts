/**
 * From what the redirect noted to what is kept: an ordered list of named steps, each adding its part to a click.
 * The first step that objects ends it with a typed reason. The address goes in and does not come out.
 *
 * Each step is counted always and timed with every 64th click: reading the clock around a step that takes half a
 * microsecond would cost more than the step.
 */
import type { Clock } from '../base/clock.ts';
import { codePattern } from '../links/link.ts';
import type { AgentTraits, Click, ReferrerTraits } from './click.ts';
import type { AgentDescriber } from './steps/agent.ts';
import type { Geo } from './steps/geo.ts';
import type { ReferrerDescriber } from './steps/referrer.ts';
import { kindOf } from './steps/visit-kind.ts';
import type { VisitorHasher } from './steps/visitor.ts';

/** A click as the redirect noted it, with the visitor's address. It lives in memory only. */
export interface RawClick {
  readonly sequence: number;
  readonly at: number;
  readonly code: string;
  readonly ownerId: string | null;
  readonly tags: readonly string[];
  readonly address: string;
  readonly userAgent: string;
  readonly referrer: string;
  /** The bits of `visitFlag`. */
  readonly flags: number;
}

/** `malformed` is not a click at all; `failed` is one that a step broke on, which is a fault of ours. */
export const dropReasons = ['malformed', 'failed'] as const;
export type DropReason = (typeof dropReasons)[number];

export interface Dropped {
  readonly drop: DropReason;
}

export interface StepReport {
  readonly name: string;
  /** Clicks that the step has seen. */
  readonly count: number;
  /** Time spent on them, estimated from those that were timed. */
  readonly nanoseconds: number;
}

export interface Enricher {
  enrich(raw: RawClick): Click | Dropped;
  steps(): readonly StepReport[];
}

export interface EnricherOptions {
  readonly agents: AgentDescriber;
  readonly referrers: ReferrerDescriber;
  readonly geo: Pick<Geo, 'locate'>;
  readonly visitors: VisitorHasher;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

type Draft = { -readonly [Field in keyof Click]: Click[Field] };
type Step = (raw: RawClick, draft: Draft) => DropReason | undefined;

export const timedEvery = 64;

export function createEnricher(options: EnricherOptions): Enricher {
  const steps = Object.entries(stepsOf(options)).map(([name, run]) => ({
    name,
    run,
    count: 0,
    timedCount: 0,
    timedMs: 0,
  }));
  let clicks = 0;

  function runAll(raw: RawClick, draft: Draft): DropReason | undefined {
    for (const step of steps) {
      step.count += 1;
      const drop = step.run(raw, draft);
      if (drop !== undefined) return drop;
    }
    return undefined;
  }

  function runAllTimed(raw: RawClick, draft: Draft): DropReason | undefined {
    for (const step of steps) {
      step.count += 1;
      step.timedCount += 1;
      const startMs = options.clock.monotonicMs();
      const drop = step.run(raw, draft);
      step.timedMs += options.clock.monotonicMs() - startMs;
      if (drop !== undefined) return drop;
    }
    return undefined;
  }

  return {
    enrich(raw) {
      const isTimed = clicks % timedEvery === 0;
      clicks += 1;
      try {
        const draft = draftOf(raw);
        const drop = isTimed ? runAllTimed(raw, draft) : runAll(raw, draft);
        return drop === undefined ? draft : dropped[drop];
      } catch {
        return dropped.failed;
      }
    },
    steps: () =>
      steps.map(({ name, count, timedCount, timedMs }) => ({
        name,
        count,
        nanoseconds: timedCount === 0 ? 0 : Math.round(((timedMs * 1e6) / timedCount) * count),
      })),
  };
}

/** In the order in which they run. A later step may use what an earlier one has found. */
function stepsOf({ agents, referrers, geo, visitors }: EnricherOptions): Record<string, Step> {
  return {
    check: raw => (isWellFormed(raw) ? undefined : 'malformed'),
    agent(raw, draft) {
      draft.agent = agents(raw.userAgent);
      return undefined;
    },
    kind(raw, draft) {
      draft.kind = kindOf(raw.flags, draft.agent);
      return undefined;
    },
    referrer(raw, draft) {
      draft.referrer = referrers(raw.referrer);
      return undefined;
    },
    geo(raw, draft) {
      const place = geo.locate(raw.address);
      draft.country = place.country;
      draft.city = place.city;
      return undefined;
    },
    visitor(raw, draft) {
      draft.visitor = visitors.visitorOf(raw.address, draft.agent.userAgent, raw.at);
      return undefined;
    },
  };
}

/** What a raw click must be before any step looks at it; it may have come back from a file. */
function isWellFormed(raw: RawClick): boolean {
  return (
    Number.isSafeInteger(raw.sequence) &&
    raw.sequence >= 0 &&
    Number.isSafeInteger(raw.at) &&
    raw.at >= 0 &&
    raw.at <= timeMaxMs &&
    Number.isSafeInteger(raw.flags) &&
    typeof raw.address === 'string' &&
    typeof raw.userAgent === 'string' &&
    typeof raw.referrer === 'string' &&
    typeof raw.code === 'string' &&
    codePattern.test(raw.code)
  );
}

/** The last moment that a Date can hold. */
const timeMaxMs = 8.64e15;

const unknownAgent: AgentTraits = { userAgent: '', browser: '', os: '', device: 'other', kind: 'bot' };
const noReferrer: ReferrerTraits = { referrer: '', domain: '' };
const dropped: Record<DropReason, Dropped> = {
  malformed: Object.freeze({ drop: 'malformed' }),
  failed: Object.freeze({ drop: 'failed' }),
};

/** All fields from the start, so that every click has the same shape and none is missing one. */
function draftOf({ sequence, at, code, ownerId, tags }: RawClick): Draft {
  return {
    sequence,
    at,
    code,
    ownerId,
    tags,
    kind: 'bot',
    visitor: '',
    country: '',
    city: '',
    agent: unknownAgent,
    referrer: noReferrer,
  };
}
