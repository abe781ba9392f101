import { noticeCases } from './notice-cases.ts';

const small = Array.from({ length: 22 }, (_, index) => [20, `n-${index + 3}`] as const);

noticeCases([...small, [100, 'n-100'], [500, 'n-500']]);
