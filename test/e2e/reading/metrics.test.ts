import { metricsCases } from './metrics-cases.ts';

metricsCases('embedded');
