/**
 * Asks all checkers about a URL at once, each with a timeout. One that fails, is slow, or has been failing recently
 * counts as having no objection to the URL, and is counted: creating links never depends on a third-party source.
 */
import type { Clock } from '../base/clock.ts';
import { LabelledCounter, type Sample } from '../telemetry/metrics.ts';

/**
 * The port for external sources of bad URLs: Safe Browsing, or whatever an operator plugs in. A checker never decides
 * alone that a link cannot be created.
 */
export interface UrlChecker {
  /** Used in metrics and in the reason of a rejection: lower case, with underscores. */
  readonly name: string;
  /** Takes a serialised http or https URL. */
  check(url: string): Promise<CheckResult>;
}

export interface CheckResult {
  readonly listed: boolean;
  /** The source's name for the threat, for example `malware`; shown to the client that wanted the link. */
  readonly threat?: string;
}

export interface Listing {
  readonly checker: string;
  readonly threat: string | undefined;
}

export const checkLimitMs = 300;
/** After this many failures in a row a checker is paused, so that ten thousand links do not each wait for it. */
const failuresMax = 5;
const restMs = 10_000;

export type CheckFailure = 'failed' | 'slow' | 'resting';

interface Standing {
  readonly checker: UrlChecker;
  failures: number;
  restsUntilMs: number;
}

export class CheckerPanel {
  readonly #clock: Clock;
  readonly #standings: readonly Standing[];
  readonly #failures = new LabelledCounter<string>();

  constructor(checkers: readonly UrlChecker[], clock: Clock) {
    this.#clock = clock;
    this.#standings = checkers.map(checker => ({
      checker,
      failures: 0,
      restsUntilMs: Number.NEGATIVE_INFINITY,
    }));
  }

  get isEmpty(): boolean {
    return this.#standings.length === 0;
  }

  /** The first checker in their order that lists the URL. Never rejects. */
  async ask(url: string): Promise<Listing | undefined> {
    const results = await Promise.all(this.#standings.map(standing => this.#askOne(standing, url)));
    const at = results.findIndex(result => result?.listed === true);
    return at === -1
      ? undefined
      : { checker: this.#standings[at]!.checker.name, threat: results[at]!.threat };
  }

  /** Checks without a result, by checker and reason. */
  failureSamples(): Sample[] {
    return this.#failures.samples('failure').map(({ labels, value }) => {
      const [checker = '', reason = ''] = String(labels?.failure).split(' ');
      return { labels: { checker, reason }, value };
    });
  }

  async #askOne(standing: Standing, url: string): Promise<CheckResult | undefined> {
    const { checker } = standing;
    if (this.#clock.monotonicMs() < standing.restsUntilMs) return this.#count(checker, 'resting');
    const result = await this.#within(checker, url);
    if (typeof result === 'object') {
      standing.failures = 0;
      return result;
    }
    standing.failures += 1;
    if (standing.failures >= failuresMax) {
      standing.failures = 0;
      standing.restsUntilMs = this.#clock.monotonicMs() + restMs;
    }
    return this.#count(checker, result);
  }

  #within(checker: UrlChecker, url: string): Promise<CheckResult | 'failed' | 'slow'> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(checkLimitMs, () => resolve('slow'));
      Promise.resolve()
        .then(() => checker.check(url))
        .catch(() => 'failed' as const)
        .then(result => {
          cancel();
          resolve(result);
        });
    });
  }

  #count(checker: UrlChecker, reason: CheckFailure): undefined {
    this.#failures.add(`${checker.name} ${reason}`);
    return undefined;
  }
}
