import { evictionPathCases } from './eviction-path-cases.ts';
import { interruptionCases } from './interruption-cases.ts';

interruptionCases('embedded');
evictionPathCases('embedded');
