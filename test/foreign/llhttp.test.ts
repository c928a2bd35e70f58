/**
 * llhttp, the parser of Node, and `http/wire` read the same bytes: they see the same messages, or the table below says
 * why not. What a vector gives never depends on the pieces in which it arrives.
 */
import { expect, test } from 'bun:test';
import { announcedRandom } from '../kit/announced-random.ts';
import { describeUnless } from '../kit/engines/describe-with-engine.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { seedNote } from '../kit/seed.ts';
import { randomPieces, singleBytes, type WireOutcome, wireOutcome } from '../kit/wire-outcome.ts';
import { type LlhttpResults, recordedResults, recordResults } from './results.ts';
import { type LlhttpVector, llhttpVectors, whyNoVectors, withHost } from './vectors.ts';

interface Difference {
  readonly kind: 'stricter' | 'looser';
  readonly reason: string;
  /** Ids of vectors. */
  readonly vectors: readonly string[];
}

/** A vector that is listed and agrees is as wrong as one that disagrees and is not listed. */
const differences: readonly Difference[] = [
  {
    kind: 'stricter',
    reason: 'the vector is for a mode of llhttp that Terse does not have: lenient parsing, or skipped bodies',
    vectors: [
      ...['connection:483', 'connection:578', 'connection:639', 'content-length:191', 'content-length:231'],
      ...['content-length:446', 'content-length:521', 'invalid:183', 'invalid:570', 'invalid:688'],
      ...[
        'lenient-header-value-relaxed:12',
        'lenient-headers:8',
        'lenient-headers:36',
        'lenient-headers:111',
      ],
      ...['lenient-version:6', 'sample:335', 'sample:575', 'transfer-encoding:538'],
      ...['transfer-encoding:682', 'transfer-encoding:715', 'transfer-encoding:1027'],
      ...['transfer-encoding:1142', 'transfer-encoding:1217'],
    ],
  },
  {
    kind: 'stricter',
    reason: 'HTTP/1.0 and HTTP/1.1 are the only protocols; not HTTP/0.9, ICE or RTSP',
    vectors: ['method:374', 'method:404', 'method:432', 'sample:316'],
  },
  {
    kind: 'stricter',
    reason: 'Terse is no proxy: a target is a path or an http URL, and a method has capital letters only',
    vectors: ['method:29', 'method:64', 'method:98', 'method:137', 'uri:190'],
  },
  {
    kind: 'stricter',
    reason: '`chunked` alone is accepted as Transfer-Encoding, because no other coding is ever decoded',
    vectors: ['transfer-encoding:753', 'transfer-encoding:795'],
  },
  {
    kind: 'looser',
    reason:
      'bytes after a request that closes the connection are discarded without an error; neither reads a message in them',
    vectors: ['connection:83', 'connection:296', 'connection:346'],
  },
  {
    kind: 'looser',
    reason:
      'a method that no route has is answered with 404 or 405; it does not change where the head or the body ends',
    vectors: ['invalid:68', 'invalid:358'],
  },
  {
    kind: 'looser',
    reason:
      'bytes beyond ASCII in a target are percent-encoded; the target still ends at the first space of the line',
    vectors: ['uri:150'],
  },
];

/** The bytes after an upgrade are not HTTP to llhttp, which stops there without an error. */
const pausedForUpgrade = 22;
const noHost = '400 The request must name its Host.';
const splits = scaled(20, 500);

interface Judgement {
  /** What was added to the vector to compare more of it. */
  readonly added: string;
  readonly agrees: boolean;
  readonly outcome: WireOutcome;
}

/**
 * A vector stops at Terse's first objection, which hides all others. So a request that only lacks its Host gets one, and
 * a head that llhttp rejects before it has ended, and Terse afterwards, gets its end.
 */
async function judge(vector: LlhttpVector): Promise<Judgement> {
  let text = vector.bytes.toString('latin1');
  const added: string[] = [];
  for (;;) {
    const outcome = await sameForAllSplits(vector, Buffer.from(text, 'latin1'));
    const isError = vector.error !== undefined && vector.error !== pausedForUpgrade;
    const agrees = outcome.requests.length === vector.messages && (outcome.error !== undefined) === isError;
    const judgement = { added: added.join(' and ') || 'nothing', agrees, outcome };
    if (outcome.error === noHost && !added.includes('Host')) {
      text = withHost(text);
      added.push('Host');
    } else if (!agrees && outcome.error === undefined && !added.includes('the end of the head')) {
      text += '\r\n\r\n';
      added.push('the end of the head');
    } else return judgement;
  }
}

const random = announcedRandom('llhttp vectors');

async function sameForAllSplits({ id }: LlhttpVector, bytes: Uint8Array): Promise<WireOutcome> {
  const seen = ({ requests, error, faults }: WireOutcome) => ({ id, requests, error, faults });
  const whole = await wireOutcome([bytes]);
  expect(seen(whole).faults).toEqual([]);
  expect(seen(await wireOutcome(singleBytes(bytes)))).toEqual(seen(whole));
  for (let count = 0; count < splits; count += 1) {
    const pieces = randomPieces(bytes, random, 8);
    expect(seen(await wireOutcome(pieces)), seedNote).toEqual(seen(whole));
  }
  return whole;
}

/** Whether the disagreement is of the kind that the table says. */
function isOfKind({ kind }: Difference, { messages }: LlhttpVector, { outcome }: Judgement): boolean {
  const { requests, error } = outcome;
  if (kind === 'looser') return error === undefined;
  return requests.length < messages || (requests.length === messages && error !== undefined);
}

describeUnless(whyNoVectors, 'llhttp', 'llhttp and http/wire', () => {
  test(
    'see the same messages, or the table says why not',
    async () => {
      const added: Record<string, number> = {};
      const counts = differences.map(() => 0);
      const wrong: string[] = [];
      for (const vector of llhttpVectors()) {
        const judgement = await judge(vector);
        const index = differences.findIndex(({ vectors }) => vectors.includes(vector.id));
        const isExpected =
          index === -1
            ? judgement.agrees
            : !judgement.agrees && isOfKind(differences[index]!, vector, judgement);
        if (index !== -1) counts[index]! += 1;
        else added[judgement.added] = (added[judgement.added] ?? 0) + 1;
        const { requests, error } = judgement.outcome;
        if (!isExpected)
          wrong.push(
            `${vector.name} (${vector.type}): llhttp ${vector.messages} messages, error ${vector.error}; ` +
              `Terse ${requests.length}, error ${error}; added: ${judgement.added}`,
          );
      }
      expect(wrong).toEqual([]);
      const results: LlhttpResults = {
        vectors: llhttpVectors().length,
        agreed: added,
        differences: differences.map(({ kind, reason }, index) => ({
          kind,
          reason,
          vectors: counts[index]!,
        })),
        boundaryDisagreements: wrong.length,
      };
      await recordResults('llhttp', results);
      // TERSE_TEST_RECORD=1 writes them; then npm run docs.
      expect(results).toEqual(recordedResults().llhttp!);
      expect(counts).toEqual(differences.map(({ vectors }) => vectors.length));
    },
    heavyTestMaxMs,
  );
});
