/**
 * What a link store consists of besides links, as records that any engine can export and import. The order of this list
 * is the order of copying: codes depend on the secret, and no code may be issued that the old marks and claims protect.
 */
import { compositeKey, type Transfer } from '../base/transfer.ts';
import { withLaterFields, withoutLaterDefaults } from './fields.ts';
import type { Link } from './link.ts';
import type { Claim, IdempotencyRecord, RememberedAnswer } from './store.ts';

export interface LinkTransfers {
  readonly installation: Transfer<InstallationCopy>;
  readonly marks: Transfer<MarkCopy>;
  readonly claims: Transfer<Claim>;
  readonly links: Transfer<LinkCopy>;
  readonly answers: Transfer<AnswerCopy>;
}

/** The installation's own values; under the name `secret` the one that its codes are made with. */
export interface InstallationCopy {
  readonly name: string;
  /** In hex. */
  readonly value: string;
}

/** Writing one raises the mark and never lowers it: ids that were leased stay leased. */
export interface MarkCopy {
  readonly length: number;
  /** Where the mark's share starts. */
  readonly first: number;
  readonly mark: number;
}

export interface LinkCopy extends Link {
  /** Whether a lease or a claim keeps a generated code from being issued again once the link is purged. */
  readonly isProtected: boolean;
}

/** An answer that is replayed when the request is repeated. */
export interface AnswerCopy extends RememberedAnswer, Omit<IdempotencyRecord, 'validAfter'> {}

export const secretName = 'secret';
export const markKey = ({ length, first }: Pick<MarkCopy, 'length' | 'first'>): string =>
  compositeKey(length, first);
export const claimKey = ({ length, id }: Claim): string => compositeKey(length, id);
export const answerKey = ({ ownerId, key }: Pick<AnswerCopy, 'ownerId' | 'key'>): string =>
  compositeKey(ownerId, key);

/**
 * An alias always leaves a tombstone that keeps it taken, whether or not something else protects it. Checksums of copies
 * by versions with and without a later field agree as long as nothing makes use of it.
 */
export function linkCopy(link: Link, isProtected: boolean): LinkCopy {
  return { ...withoutLaterDefaults(link), isProtected: isProtected && link.origin === 'generated' };
}

export function linkOfCopy({ isProtected: _isProtected, ...link }: LinkCopy): Link {
  return withLaterFields(link);
}
