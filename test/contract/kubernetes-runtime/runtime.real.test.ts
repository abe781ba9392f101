import { describe } from 'vitest';
import { describeStart } from './cluster-cases.ts';
import { assets, clusterOf, doublesOnRealApi } from './runtimes.ts';
import { describeScheduling } from './scheduling-cases.ts';
import { describeWorkloads } from './workload-cases.ts';

describe.skipIf(assets === '')('workloads on the real control plane', () => {
  describeWorkloads(() => clusterOf('real'));
});
describe.skipIf(assets === '')('scheduling on the real control plane', () => {
  describeScheduling(() => clusterOf('real'));
});
describe.skipIf(assets === '')('workloads with our controllers on the real API server', () => {
  describeWorkloads(doublesOnRealApi);
});
describe.skipIf(assets === '')('scheduling with our scheduler on the real API server', () => {
  describeScheduling(doublesOnRealApi);
});
describe.skipIf(assets === '')('the start of a cluster on the real control plane', () => {
  describeStart('real');
});
