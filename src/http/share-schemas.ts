/** Request and response schemas of tokens for statistics. */
import { z } from 'zod';
import { linkAnswer, moment } from './schemas.ts';

export const statsTokenBody = z.strictObject({
  expiresAt: moment.meta({
    description: 'When it ends: ISO 8601 time with a zone, in the future.',
    examples: ['2030-01-31T12:00:00Z'],
  }),
});

export const statsTokenAnswer = z.strictObject({
  token: z.string().meta({ description: 'The parameter `token` of the statistics of this link.' }),
  expiresAt: z.iso.datetime(),
  link: linkAnswer,
});
