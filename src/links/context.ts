/** What the verbs of this folder work with, and the rules that creating and editing share. */
import type { JudgeUrl, UrlJudgement, UrlToJudge } from '../abuse/judge.ts';
import type { UrlPolicy } from '../abuse/url-policy.ts';
import type { Actor } from '../accounts/account.ts';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { following, type NowOrLater } from '../base/now-or-later.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import type { AliasPolicy } from './alias-policy.ts';
import type { Link } from './link.ts';
import type { Claim, LinkStore } from './store.ts';

export interface LinkContext {
  readonly store: LinkStore;
  readonly generator: CodeGenerator;
  readonly urlPolicy: UrlPolicy;
  /** Known or likely risks of a destination that the policy accepts. */
  readonly judgeUrl: JudgeUrl;
  readonly aliasPolicy: AliasPolicy;
  /** The claim a code needs when it was not leased; undefined when no generated code can ever look like it. */
  readonly claimOf: (code: string) => Claim | undefined;
  readonly anonymousAllowed: boolean;
  readonly clock: Clock;
  /** Called once for each link that was created; not for links that were found or replayed. */
  readonly onMade?: (actor: Actor, link: Link) => void;
}

/** The destination as it will be stored: parsed, judged, serialised. */
export function acceptUrl(context: LinkContext, longUrl: string): string {
  const verdict = context.urlPolicy.judge(longUrl);
  if (verdict.ok) return verdict.url;
  throw new Problem('invalid_url', {
    detail: verdict.detail,
    fields: { field: 'longUrl', reason: verdict.reason },
  });
}

const statusByVerdict = { allow: 'active', quarantine: 'quarantined', block: 'blocked' } as const;

type JudgedStatus = Pick<Link, 'risk'> & { readonly status: 'active' | 'quarantined' | 'blocked' };

/** The status of a link to this destination; rejects one that is known to be harmful. */
export function judgeDestination(context: LinkContext, destination: UrlToJudge): NowOrLater<JudgedStatus> {
  return following(context.judgeUrl(destination), statusAfter);
}

function statusAfter(judgement: UrlJudgement): JudgedStatus {
  if (judgement.verdict === 'refuse') {
    const { type, detail } = judgement.refusal ?? {
      type: 'unknown',
      detail: 'The destination is not allowed.',
    };
    throw new Problem('url_blocked', { detail, fields: { field: 'longUrl', reason: type } });
  }
  return { status: statusByVerdict[judgement.verdict], risk: riskIn(judgement) };
}

let lastReasons: UrlJudgement['reasons'] = [];
let lastRisk: Link['risk'] = null;

/** The same object for the same reasons, as the links of a call have. */
function riskIn({ score, reasons }: UrlJudgement): Link['risk'] {
  if (reasons !== lastReasons) {
    lastReasons = reasons;
    const shown = reasons.map(({ signal, weight, detail }) => `${signal} (+${weight}): ${detail}`);
    lastRisk = reasons.length === 0 ? null : { score, reasons: shown };
  }
  return lastRisk;
}

/** A year of five digits would be shown as a time that few programs can parse. */
const lastTimeMs = Date.parse('9999-12-31T23:59:59.999Z');

export function acceptExpiry(context: LinkContext, expiresAt: number | null): number | null {
  if (expiresAt === null) return null;
  if (expiresAt <= context.clock.now()) throw invalidExpiry('The expiry must lie in the future.');
  if (expiresAt > lastTimeMs) throw invalidExpiry('The expiry must lie before the year 10000.');
  return expiresAt;
}

function invalidExpiry(detail: string): Problem {
  return new Problem('invalid_expiry', { detail, fields: { field: 'expiresAt' } });
}

/** The results of all checks. Rejections are thrown as one: the first of them, with all of them in `errors`. */
export function acceptAll<Values extends readonly unknown[]>(
  checks: {
    readonly [Place in keyof Values]: () => Values[Place];
  },
): Values {
  const problems: Problem[] = [];
  const values = checks.map(check => {
    try {
      return check();
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      problems.push(error);
      return undefined;
    }
  });
  const [first, ...others] = problems;
  if (first === undefined) return values as unknown as Values;
  if (others.length === 0) throw first;
  const errors = problems.map(({ detail, fields }) => ({ field: String(fields.field), message: detail }));
  const { code, detail, headers } = first;
  throw new Problem(code, { detail, headers, fields: { ...first.fields, errors } });
}
