import { togetherCases } from './together-cases.ts';

togetherCases('embedded');
