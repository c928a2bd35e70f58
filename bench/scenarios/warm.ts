import type { Scenario } from '../kit/scenario.ts';
export const warm: Scenario = { name: 'warm', summary: '', run: async () => [] };
