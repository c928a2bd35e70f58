/** What requests and answers about the blocklist look like. */
import { z } from 'zod';
import { text, upTo } from './schemas.ts';

const time = (description: string) =>
  z.iso.datetime().meta({ description, examples: ['2026-01-31T12:00:00.000Z'] });

export const blockEntryBody = z
  .strictObject({
    entry: text(1, 2_048).meta({
      description:
        'A line as in a list file: `evil.example`, `*.evil.example`, `https://good.example/bad`, `paypal-*.example`; ' +
        'with a `-` in front it is an exception.',
      examples: ['evil.example'],
    }),
    reason: text(1, 500)
      .nullable()
      .optional()
      .meta({ description: 'Why, for whoever looks at it later.', examples: ['phishing of customers'] }),
  })
  .meta({ id: 'NewBlockEntry' });

export const blocklistParameters = z.strictObject({
  limit: z
    .preprocess(
      text => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
      z.int('must be a whole number from 1 to 1000').min(1).max(1_000),
    )
    .default(100)
    .meta({ description: 'Entries per page.', default: 100 }),
  cursor: upTo(64).optional().meta({ description: '`nextCursor` of the page before.' }),
});

const entryFields = {
  id: z.string().meta({ description: 'Names the entry.', examples: ['blk_mB3xT0c2vQ1eR7yZ'] }),
  entry: z.string().meta({ description: 'The entry in its one spelling.' }),
  reason: z.string().nullable().meta({ description: 'Why it was added.' }),
  addedAt: time('When it was added.'),
  addedBy: z.string().nullable().meta({ description: 'The account that added it.' }),
};
export const blockEntryAnswer = z.strictObject(entryFields).meta({ id: 'BlockEntry' });

export const blocklistAnswer = z.strictObject({
  lists: z
    .array(
      z.strictObject({
        name: z
          .string()
          .meta({ description: '`operator` for the entries below; the file’s name for a file.' }),
        state: z.enum(['loaded', 'kept', 'absent']).meta({
          description:
            '`loaded`: in force as it is on disk. `kept`: something is wrong with the file, and the version before ' +
            'is in force. `absent`: nothing of it is.',
        }),
        entries: z.int().min(0),
        loadedAt: time('When the version in force was loaded.').nullable(),
        fault: z.string().nullable().meta({ description: 'What is wrong with the file.' }),
        complaints: z
          .strictObject({
            unreadable: z.int().min(0).meta({ description: 'Lines that are no entries.' }),
            refused: z
              .int()
              .min(0)
              .meta({ description: 'Entries that would block too much, such as `co.uk`.' }),
            examples: z.array(z.string()),
          })
          .meta({ description: 'Lines of the version in force that were left out.' }),
      }),
    )
    .meta({ description: 'Every list, as this process has it.' }),
  entries: z.array(blockEntryAnswer).meta({ description: 'Entries added through this API, oldest first.' }),
  nextCursor: z.string().nullable().meta({ description: 'For the next page; null on the last.' }),
});
