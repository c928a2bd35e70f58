import { archiveConformance } from '../archive.conformance.ts';
import { createMemoryArchive } from './fake-memory.ts';

archiveConformance('memory', async () => createMemoryArchive());
