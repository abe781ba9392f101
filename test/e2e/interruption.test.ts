import { evictionPathCases } from './eviction-path-cases.ts';
import { interruptionCases } from './interruption-cases.ts';
import { stormCases } from './storm-cases.ts';

interruptionCases('embedded');
stormCases('embedded');
evictionPathCases('embedded');
