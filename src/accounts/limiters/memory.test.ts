import { rateLimiterConformance } from '../rate-limit.conformance.ts';
import { createMemoryLimiter } from './memory.ts';

rateLimiterConformance('memory', async () => ({
  limiter: createMemoryLimiter(),
  dispose: async () => {},
}));
