import { openMemoryRecords } from '../../../test/kit/record-engines.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';

recordStoreConformance('memory', openMemoryRecords, { sweeps: true, locks: true });
