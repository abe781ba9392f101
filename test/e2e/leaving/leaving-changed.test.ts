import { leavingCases } from './leaving-cases.ts';

leavingCases('embedded', ['changed']);
