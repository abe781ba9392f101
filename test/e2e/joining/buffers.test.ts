import { bufferCases } from './buffer-cases.ts';

bufferCases('embedded', 0);
