import { disruptionCases } from './disruption-cases.ts';

disruptionCases('embedded');
