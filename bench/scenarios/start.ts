import type { Scenario } from '../kit/scenario.ts';
export const start: Scenario = { name: 'start', summary: '', run: async () => [] };
