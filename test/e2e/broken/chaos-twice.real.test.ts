import { describe } from 'vitest';
import { chaosCases } from './chaos-cases.ts';

describe.skipIf((process.env['KUBEBUILDER_ASSETS'] ?? '') === '')('on a real control plane', () => {
  chaosCases(
    'real',
    'parts are killed and every message comes twice',
    { growth: ['3', '4'], churn: ['3'], loss: ['2'] },
    { settings: { NODEWRIGHT_DELIVER_TWICE: '1' }, duplicatePercent: 30 },
  );
});
