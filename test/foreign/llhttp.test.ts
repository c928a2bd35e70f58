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

/** Terse rejects a message that llhttp accepts, and has seen the same messages before it. */
interface Rejected {
  readonly kind: 'stricter';
  readonly reason: string;
  /** Ids of vectors. */
  readonly vectors: readonly string[];
}

/** Terse rejects nothing, and sees exactly these requests: line and body, by the id of the vector. */
interface Accepted {
  readonly kind: 'stricter' | 'looser';
  readonly reason: string;
  readonly requests: Readonly<Record<string, readonly (readonly [line: string, body: string])[]>>;
}

type Difference = Rejected | Accepted;

const vectorsOf = (difference: Difference): readonly string[] =>
  'vectors' in difference ? difference.vectors : Object.keys(difference.requests);

/** A vector that is listed and agrees is as wrong as one that disagrees and is not listed. */
const differences: readonly Difference[] = [
  {
    kind: 'stricter',
    reason: 'the vector is for a mode of llhttp that Terse does not have: lenient parsing, or skipped bodies',
    vectors: [
      ...['connection:483', 'connection:578', 'connection:639', 'content-length:191', 'content-length:231'],
      ...['content-length:521', 'invalid:183', 'invalid:570', 'invalid:688'],
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
    reason: 'llhttp skips the body; Terse waits for the one that Content-Length announces',
    requests: { 'content-length:446': [] },
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
    requests: {
      'connection:83': [['PUT /url? 1', '']],
      'connection:296': [['POST /? 1.1', 'q=42']],
      'connection:346': [['POST /? 1.1', 'q=42']],
    },
  },
  {
    kind: 'looser',
    reason:
      'a method that no route has is answered with 404 or 405; it does not change where the head or the body ends',
    requests: {
      'invalid:68': [['ANNOUNCE /music/sweet/music? 1', '']],
      'invalid:358': [['MKCOLA /? 1.1', '']],
    },
  },
  {
    kind: 'looser',
    reason:
      'bytes beyond ASCII in a target are percent-encoded; the target still ends at the first space of the line',
    requests: { 'uri:150': [['GET /%B4%B6/%B4t/pope?q=1 1.1', '']] },
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

/** Whether Terse sees the ends of messages where llhttp does, as far as both read. */
function haveSameBoundaries(
  { id, messages }: LlhttpVector,
  difference: Difference | undefined,
  { requests, error }: WireOutcome,
): boolean {
  if (difference === undefined) return requests.length === messages;
  if ('requests' in difference) return Bun.deepEquals(requests.map(lineAndBody), difference.requests[id]);
  return requests.length === messages || (error !== undefined && requests.length < messages);
}

/** None of the bodies has a line end. */
function lineAndBody(request: string): readonly [string, string] {
  const lines = request.split('\n');
  return [lines[0]!, lines.at(-1)!];
}

/** Whether the disagreement is of the kind that the table says. */
const isOfKind = (difference: Difference, { error }: WireOutcome): boolean =>
  'vectors' in difference === (error !== undefined);

describeUnless(whyNoVectors, 'llhttp', 'llhttp and http/wire', () => {
  test(
    'see the same messages, or the table says why not',
    async () => {
      const agreed: Record<string, number> = {};
      const counts = differences.map(() => 0);
      const wrong: string[] = [];
      let boundaryDisagreements = 0;
      for (const vector of llhttpVectors()) {
        const { added, agrees, outcome } = await judge(vector);
        const index = differences.findIndex(each => vectorsOf(each).includes(vector.id));
        const difference = differences[index];
        const isExpected = difference === undefined ? agrees : !agrees && isOfKind(difference, outcome);
        const isSame = haveSameBoundaries(vector, difference, outcome);
        if (!isSame) boundaryDisagreements += 1;
        if (difference !== undefined) counts[index]! += 1;
        else if (agrees) agreed[added] = (agreed[added] ?? 0) + 1;
        if (!isExpected || !isSame)
          wrong.push(
            `${vector.name} (${vector.type}): llhttp ${vector.messages} messages, error ${vector.error}; ` +
              `Terse ${JSON.stringify(outcome.requests.map(lineAndBody))}, error ${outcome.error}; added: ${added}`,
          );
      }
      const results: LlhttpResults = {
        vectors: llhttpVectors().length,
        agreed,
        differences: differences.map(({ kind, reason }, index) => ({
          kind,
          reason,
          vectors: counts[index]!,
        })),
        boundaryDisagreements,
      };
      await recordResults('llhttp', results);
      expect(wrong).toEqual([]);
      // TERSE_TEST_RECORD=1 writes them; then npm run docs.
      expect(results).toEqual(recordedResults().llhttp!);
      expect(counts).toEqual(differences.map(each => vectorsOf(each).length));
    },
    heavyTestMaxMs,
  );
});
