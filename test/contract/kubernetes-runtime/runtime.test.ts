import { describe } from 'vitest';
import { describeStart } from './cluster-cases.ts';
import { clusterOf } from './runtimes.ts';
import { describeScheduling } from './scheduling-cases.ts';
import { describeWorkloads } from './workload-cases.ts';

describe('workloads on the embedded cluster', () => {
  describeWorkloads(() => clusterOf('embedded'));
});
describe('scheduling on the embedded cluster', () => {
  describeScheduling(() => clusterOf('embedded'));
});
describe('the start of an embedded cluster', () => {
  describeStart('embedded');
});
