import { noticeCases } from './notice-cases.ts';

const small = Array.from({ length: 20 }, (_, index) => [20, `n-${index + 2}`] as const);

noticeCases([...small, [100, 'n-100']]);
