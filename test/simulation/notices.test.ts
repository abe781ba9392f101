import { noticeCases } from './notice-cases.ts';

noticeCases([
  [20, 'n-0'],
  [20, 'n-1'],
]);
