import { describe, expect, test } from 'bun:test';
import { Problem } from '../base/errors.ts';
import { base62Alphabet } from './code-space.ts';
import type { CodeGenerator, MintRequest } from './generator.ts';

/**
 * What every strategy promises, whatever it makes codes from. Each strategy's own test file calls this once
 * and says, with the reason, where it promises less.
 */
export interface GeneratorConformanceOptions {
  readonly length: number;
  /** Starts a set of processes that share what real ones would share. */
  readonly createInstallation: () => Installation;
  /** `true`, or why codes of this strategy may turn out to be taken. */
  readonly leased: true | { readonly no: string };
  /** `true`, or why a second process may mint a code that the first one already minted. */
  readonly distinctAcrossProcesses: true | { readonly no: string };
}

export interface Installation {
  /** One process's generator. */
  start(isAllowed?: (code: string) => boolean): CodeGenerator;
}

export function describeGenerator(name: string, options: GeneratorConformanceOptions): void {
  const { length, createInstallation, leased, distinctAcrossProcesses } = options;

  describe(`${name} as a generator`, () => {
    test('gives codes of the fixed length in Base62', async () => {
      const codes = await mintCodes(createInstallation().start(), 2_000);
      const shape = new RegExp(`^[0-9A-Za-z]{${length}}$`);
      expect(codes.filter(code => !shape.test(code))).toEqual([]);
    });

    test('gives 50,000 links 50,000 codes', async () => {
      const codes = await mintCodes(createInstallation().start(), 50_000);
      expect(new Set(codes).size).toBe(50_000);
    });

    test('gives concurrent callers distinct codes', async () => {
      const generator = createInstallation().start();
      const minted = await Promise.all(
        Array.from({ length: 5_000 }, (_, index) => generator.mint(link(index))),
      );
      expect(new Set(minted.map(({ code }) => code)).size).toBe(5_000);
      generator.close();
    });

    test('never gives a code that the filter refuses', async () => {
      const isAllowed = (code: string) => !/[aeiou]/i.test(code);
      const codes = await mintCodes(createInstallation().start(isAllowed), 500);
      expect(codes).toHaveLength(500);
      expect(codes.filter(code => !isAllowed(code))).toEqual([]);
    });

    test('gives up with a clear problem when the filter refuses everything', async () => {
      const generator = createInstallation().start(() => false);
      const problem = await generator.mint(link(0)).catch(error => error);
      expect(problem).toBeInstanceOf(Problem);
      expect(problem.code).toBe('codes_exhausted');
      generator.close();
    });

    test('gives another code when the first one is reported as taken', async () => {
      const generator = createInstallation().start();
      const codes = new Set<string>();
      for (let attempt = 0; attempt < 16; attempt += 1) {
        codes.add((await generator.mint({ ...link(0), attempt })).code);
      }
      expect(codes.size).toBe(16);
      generator.close();
    });

    declared(leased)('marks its codes as leased', async () => {
      const generator = createInstallation().start();
      expect((await generator.mint(link(0))).leased).toBe(true);
      generator.close();
    });

    if (leased !== true) {
      test('never marks a code as leased', async () => {
        const generator = createInstallation().start();
        for (let index = 0; index < 100; index += 1) {
          expect((await generator.mint(link(index))).leased).toBe(false);
        }
        generator.close();
      });
    }

    declared(distinctAcrossProcesses)('gives two processes no code in common', async () => {
      const installation = createInstallation();
      const processes = [installation.start(), installation.start(), installation.start()];
      const codes = await Promise.all(processes.map(generator => mintCodes(generator, 5_000)));
      expect(new Set(codes.flat()).size).toBe(15_000);
    });

    test('consecutive codes show no relation', async () => {
      const codes = await mintCodes(createInstallation().start(), 5_000);
      const neighbours = codes.slice(1).map((code, index) => [codes[index]!, code] as const);

      // Two unrelated codes agree in a given position once in 62 times: 81 of 4,999, give or take 9.
      for (let position = 0; position < length; position += 1) {
        const same = neighbours.filter(([before, after]) => before[position] === after[position]).length;
        expect(same).toBeGreaterThan(40);
        expect(same).toBeLessThan(130);
      }
      // As many go up as down: 2,500, give or take 20 (neighbouring comparisons share a code).
      const rising = neighbours.filter(([before, after]) => before < after).length;
      expect(rising).toBeGreaterThan(2_380);
      expect(rising).toBeLessThan(2_620);
      // No step between neighbours is preferred: the first characters differ by each amount about equally.
      const steps = new Array<number>(62).fill(0);
      for (const [before, after] of neighbours) {
        const step = base62Alphabet.indexOf(after[0]!) - base62Alphabet.indexOf(before[0]!);
        steps[(step + 62) % 62]! += 1;
      }
      expect(Math.max(...steps)).toBeLessThan(130);
    });

    test('says how many codes are available', async () => {
      const generator = createInstallation().start();
      await generator.mint(link(0));
      expect(generator.available()).toBeGreaterThan(0);
      generator.close();
    });

    test('after close every mint still settles, and closing twice is harmless', async () => {
      const generator = createInstallation().start();
      const waiting = Array.from({ length: 10 }, (_, index) => generator.mint(link(index)));
      generator.close();
      generator.close();
      const outcomes = await Promise.allSettled([...waiting, generator.mint(link(10))]);
      const failures = outcomes.filter(outcome => outcome.status === 'rejected');
      expect(failures.filter(({ reason }) => !(reason instanceof Problem))).toEqual([]);
    });
  });
}

async function mintCodes(generator: CodeGenerator, count: number): Promise<string[]> {
  const codes: string[] = [];
  for (let index = 0; index < count; index += 1) codes.push((await generator.mint(link(index))).code);
  generator.close();
  return codes;
}

function link(index: number): MintRequest {
  return { longUrl: `https://example.com/page/${index}`, ownerId: 'owner', attempt: 0 };
}

/** A test that runs, or is skipped under its own name and the declared reason. */
function declared(promise: true | { readonly no: string }) {
  return (name: string, body: () => Promise<void>): void => {
    if (promise === true) test(name, body);
    else test.skip(`${name} (${promise.no})`, body);
  };
}
