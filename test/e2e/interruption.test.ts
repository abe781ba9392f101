import { interruptionCases } from './interruption-cases.ts';

interruptionCases('embedded');
