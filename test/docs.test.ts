import { describe, expect, test } from 'bun:test';
import { generatedParts, readDocument, withPart } from './kit/generated-docs.ts';

describe('documents', () => {
  test.each(generatedParts.map(entry => [entry.file, entry.part, entry.text] as const))(
    '%s: the part “%s” says what the code says (npm run docs)',
    async (file, part, text) => {
      const document = await readDocument(file);
      expect(document).toBe(withPart(document, part, text()));
    },
  );

  test('every link between documents leads to a file', async () => {
    const missing: string[] = [];
    for await (const file of new Bun.Glob('{*.md,docs/**/*.md}').scan({ cwd: `${import.meta.dir}/..` })) {
      const folder = file.includes('/') ? file.slice(0, file.lastIndexOf('/') + 1) : '';
      for (const [, target = ''] of (await readDocument(file)).matchAll(
        /\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g,
      )) {
        if (!(await Bun.file(`${import.meta.dir}/../${folder}${target}`).exists()))
          missing.push(`${file} → ${target}`);
      }
    }
    expect(missing).toEqual([]);
  });
});
