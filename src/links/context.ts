/** What the verbs of this folder work with. `app/compose.ts` builds it once; tests build small ones. */
import type { JudgeUrl } from '../abuse/judge.ts';
import type { UrlPolicy } from '../abuse/url-policy.ts';
import type { Actor } from '../accounts/account.ts';
import type { Clock } from '../base/clock.ts';
import type { CodeGenerator } from '../codes/generator.ts';
import type { AliasPolicy } from './alias-policy.ts';
import type { Link } from './link.ts';
import type { Claim, LinkStore } from './store.ts';

export interface LinkContext {
  readonly store: LinkStore;
  readonly generator: CodeGenerator;
  readonly urlPolicy: UrlPolicy;
  /** What is known, or likely, against a destination that the policy accepts. */
  readonly judgeUrl: JudgeUrl;
  readonly aliasPolicy: AliasPolicy;
  /** The claim a code needs when it was not leased; undefined when no generated code can ever look like it. */
  readonly claimOf: (code: string) => Claim | undefined;
  readonly anonymousAllowed: boolean;
  readonly clock: Clock;
  /** Told of each link that was made, once; not of those found or asked for again. */
  readonly onMade?: (actor: Actor, link: Link) => void;
}
