import { interruptionCases } from './interruption-cases.ts';
import { stormCases } from './storm-cases.ts';

interruptionCases('embedded');
stormCases('embedded');
