import { evictionPathCases } from './eviction-path-cases.ts';

evictionPathCases('embedded');
