import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '../base/clock.ts';
import { HeldBack, watchFile } from './watched-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-watched-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
let path = '';
beforeEach(() => {
  files += 1;
  path = join(folder, `file${files}`);
});

/** Files whose text is `bad …` cannot be loaded; those that are `odd …` only when confirmed. */
function watching() {
  const clock = new ManualClock();
  const loaded: string[] = [];
  const faults: string[] = [];
  let duringLoad = (): void => undefined;
  const file = watchFile<string>({
    path,
    clock,
    async load(from, _current, isInsisted) {
      const text = readFileSync(from, 'utf8');
      duringLoad();
      if (text.startsWith('bad')) throw new Error(`${text} cannot be loaded`);
      if (text.startsWith('odd') && !isInsisted) throw new HeldBack(`${text} is held back`);
      return text;
    },
    onLoaded: value => loaded.push(value),
    onFault: fault => faults.push(fault),
  });
  return {
    file,
    clock,
    loaded,
    faults,
    onLoad: (action: () => void) => {
      duringLoad = action;
    },
    async look(times = 2) {
      for (let time = 0; time < times; time += 1) {
        clock.set(clock.now() + 200);
        await file.poll();
      }
    },
  };
}

describe('a watched file', () => {
  test('is loaded at the start, and again when it has changed', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, look, clock } = watching();
    await file.start();
    expect(loaded).toEqual(['one']);
    await look();
    expect(loaded).toEqual(['one']);
    writeFileSync(path, 'two!');
    await look();
    expect(loaded).toEqual(['one', 'two!']);
    expect(file.status()).toEqual({ path, state: 'loaded', loadedAt: clock.now(), fault: null });
  });

  test('is loaded when it is replaced by another of the same size', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, look } = watching();
    await file.start();
    writeFileSync(`${path}.new`, 'two');
    renameSync(`${path}.new`, path);
    await look();
    expect(loaded).toEqual(['one', 'two']);
  });

  test('is not loaded while it looks different each time', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, faults, look } = watching();
    await file.start();
    for (let step = 0; step < 30; step += 1) {
      writeFileSync(path, 'x'.repeat(10 + step));
      await look(1);
    }
    expect(loaded).toEqual(['one']);
    expect(faults).toEqual(['the file is still being written']);
    expect(file.status().state).toBe('kept');
    await look(1);
    expect(loaded).toEqual(['one', 'x'.repeat(39)]);
    expect(file.status().fault).toBeNull();
  });

  test('is not accepted when it changed while it was read', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, look, onLoad } = watching();
    await file.start();
    writeFileSync(path, 'half of two');
    let isFirst = true;
    onLoad(() => {
      if (isFirst) writeFileSync(path, 'all of two');
      isFirst = false;
    });
    await look();
    expect(loaded).toEqual(['one']);
    await look();
    expect(loaded).toEqual(['one', 'all of two']);
  });

  test('that cannot be loaded leaves the previous version active, and is reported once', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, faults, look } = watching();
    await file.start();
    writeFileSync(path, 'bad page');
    await look(6);
    expect(loaded).toEqual(['one']);
    expect(faults).toEqual(['bad page cannot be loaded']);
    expect(file.status()).toMatchObject({ state: 'kept', fault: 'bad page cannot be loaded' });
    writeFileSync(path, 'two');
    await look();
    expect(loaded).toEqual(['one', 'two']);
    expect(file.status()).toMatchObject({ state: 'loaded', fault: null });
  });

  test('that vanishes leaves its last version active, and may come back', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, faults, look } = watching();
    await file.start();
    renameSync(path, `${path}.moved`);
    await look();
    expect(file.status()).toMatchObject({ state: 'kept', fault: 'the file is missing' });
    writeFileSync(path, 'two');
    await look();
    expect(loaded).toEqual(['one', 'two']);
    expect(faults).toEqual(['the file is missing']);
    expect(file.status().state).toBe('loaded');
  });

  test('that is missing at the start is absent until it appears', async () => {
    const { file, loaded, faults, look } = watching();
    await file.start();
    expect(file.status()).toEqual({ path, state: 'absent', loadedAt: null, fault: 'the file is missing' });
    expect(faults).toEqual(['the file is missing']);
    writeFileSync(path, 'one');
    await look();
    expect(loaded).toEqual(['one']);
    expect(file.status().state).toBe('loaded');
  });

  test('that is held back is accepted when it has not changed for a minute', async () => {
    writeFileSync(path, 'one');
    const { file, loaded, faults, look, clock } = watching();
    await file.start();
    writeFileSync(path, 'odd one');
    await look();
    expect(faults).toEqual(['odd one is held back']);
    clock.set(clock.now() + 59_000);
    await look(1);
    expect(loaded).toEqual(['one']);
    clock.set(clock.now() + 1_000);
    await look(1);
    expect(loaded).toEqual(['one', 'odd one']);
    expect(file.status().fault).toBeNull();
  });
});
