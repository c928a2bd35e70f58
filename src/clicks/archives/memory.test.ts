import { archiveConformance } from '../archive.conformance.ts';
import { createMemoryArchive } from './memory.ts';

archiveConformance('memory', async () => createMemoryArchive());
