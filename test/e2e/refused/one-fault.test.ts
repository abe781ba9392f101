import { oneFaultCases } from './one-fault-cases.ts';

oneFaultCases('embedded');
