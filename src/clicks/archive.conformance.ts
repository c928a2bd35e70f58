/** The contract of an archive, as tests. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { type Archive, archivedDays } from './archive.ts';

export function archiveConformance(name: string, open: () => Promise<Archive>): void {
  describe(`the ${name} archive`, () => {
    let archive: Archive;
    beforeEach(async () => {
      archive = await open();
    });
    const bytes = (...values: number[]): Uint8Array<ArrayBuffer> => Uint8Array.from(values);

    test('returns every byte that was put', async () => {
      const all = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
      await archive.put('clicks/2026-06-01/one', all);
      await archive.put('clicks/2026-06-01/empty', bytes());
      expect(Buffer.from((await archive.get('clicks/2026-06-01/one'))!).equals(all)).toBe(true);
      expect(await archive.get('clicks/2026-06-01/empty')).toHaveLength(0);
    });

    test('has nothing that was not put', async () => {
      expect(await archive.get('clicks/2026-06-01/none')).toBeUndefined();
      expect(await archive.list('')).toEqual([]);
    });

    test('keeps the newer of two objects with one name', async () => {
      await archive.put('days/2026-06-01.json', bytes(1, 2, 3));
      await archive.put('days/2026-06-01.json', bytes(4));
      expect([...(await archive.get('days/2026-06-01.json'))!]).toEqual([4]);
      expect(await archive.list('days/')).toEqual(['days/2026-06-01.json']);
    });

    test('lists all names with a common prefix, sorted, and finds days by their manifests', async () => {
      const days = ['2026-06-03', '2026-05-31', '2026-06-01', '2026-06-02', '2026-06-04'];
      for (const day of days) await archive.put(`days/${day}.json`, bytes(1));
      await archive.put('days/notes.txt', bytes(1));
      await archive.put('clicks/2026-06-09/part', bytes(1));
      expect(await archive.list('days/')).toEqual([
        ...days.toSorted().map(day => `days/${day}.json`),
        'days/notes.txt',
      ]);
      expect(await archivedDays(archive)).toEqual(days.toSorted());
    });
  });
}
