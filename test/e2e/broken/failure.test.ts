import { failureCases } from './failure-cases.ts';

failureCases('embedded');
