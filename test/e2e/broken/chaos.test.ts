import { chaosCases } from './chaos-cases.ts';

chaosCases('embedded', 'parts are killed', { growth: ['1'], churn: ['1', '2'], loss: ['1'] });
