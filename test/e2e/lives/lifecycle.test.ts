import { lifecycleCases } from './lifecycle-cases.ts';

lifecycleCases('embedded');
